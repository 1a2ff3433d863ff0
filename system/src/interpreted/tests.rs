//! The reader on the state of a CPython that is laid out by hand.

use hps_isa::memory::{Memory, Perm};

use super::python;
use super::{Interpreter, Names, Opened, PathId, Store, Turn};

const BASE: u64 = 0x10_0000;
const SIZE: u64 = 0x1_0000;
/// Root, interpreter, threads.
const RUNTIME: u64 = BASE;
const INTERPRETER: u64 = BASE + 0x1000;
const THREAD: u64 = BASE + 0x1800;
/// Type of code objects.
const CODE_TYPE: u64 = BASE + 0x2000;

/// Offsets of fields in the structures of this file, which are not those of a real interpreter.
mod offset {
    pub const INTERPRETERS: u64 = 0x300;
    pub const NEXT_INTERPRETER: u64 = 0x10;
    pub const THREADS: u64 = 0x20;
    pub const NEXT_THREAD: u64 = 0x18;
    pub const FRAME: u64 = 0x28;
    pub const PREVIOUS: u64 = 0x8;
    pub const EXECUTABLE: u64 = 0x0;
    pub const INSTRUCTION: u64 = 0x10;
    pub const OWNER: u64 = 0x19;
    pub const FILE: u64 = 0x10;
    pub const NAME: u64 = 0x18;
    pub const LINES: u64 = 0x20;
    pub const FIRST_LINE: u64 = 0x28;
    pub const BEGIN: u64 = 0x40;
    pub const TYPE: u64 = 0x8;
    pub const TYPE_NAME: u64 = 0x18;
    pub const BYTES_SIZE: u64 = 0x10;
    pub const BYTES: u64 = 0x20;
    pub const STATE: u64 = 0x20;
    pub const LENGTH: u64 = 0x10;
    pub const TEXT: u64 = 0x28;
}

/// Words behind the cookie with an offset, by their place in `_Py_DebugOffsets` of CPython 3.13. Sizes of structures and
/// fields that nobody reads are 0.
const OFFSETS: [(u64, u64); 21] = [
    (4, offset::INTERPRETERS),
    (7, offset::NEXT_INTERPRETER),
    (8, offset::THREADS),
    (20, offset::NEXT_THREAD),
    (22, offset::FRAME),
    (28, offset::PREVIOUS),
    (29, offset::EXECUTABLE),
    (30, offset::INSTRUCTION),
    (32, offset::OWNER),
    (34, offset::FILE),
    (36, offset::NAME),
    (37, offset::LINES),
    (38, offset::FIRST_LINE),
    (42, offset::BEGIN),
    (44, offset::TYPE),
    (46, offset::TYPE_NAME),
    (64, offset::BYTES_SIZE),
    (65, offset::BYTES),
    (67, offset::STATE),
    (68, offset::LENGTH),
    (69, offset::TEXT),
];

/// Memory with an interpreter, and the reader that watches it.
struct World {
    memory: Memory,
    free: u64,
    reader: Option<Box<dyn Interpreter>>,
    names: Names,
}

impl World {
    fn new() -> World {
        let mut memory = Memory::new(1 << 20).expect("memory");
        memory.map(BASE, SIZE, Perm::RW).expect("a mapping");
        let mut world = World {
            memory,
            free: BASE + 0x3000,
            reader: None,
            names: Names::default(),
        };
        world.poke(RUNTIME, u64::from_le_bytes(*b"xdebugpy"));
        world.poke(RUNTIME + 8, 0x030d_05f0);
        for (word, offset) in OFFSETS {
            world.poke(RUNTIME + 8 + 8 * word, offset);
        }
        world.bytes(CODE_TYPE + 0x100, b"code\0");
        world.poke(CODE_TYPE + offset::TYPE_NAME, CODE_TYPE + 0x100);
        world.poke(RUNTIME + offset::INTERPRETERS, INTERPRETER);
        world.poke(INTERPRETER + offset::THREADS, THREAD);
        world
    }

    fn open(&mut self) {
        match python::open(RUNTIME, &self.memory) {
            Opened::Read(reader) => self.reader = Some(reader),
            Opened::Refused(reason) => panic!("{reason}"),
            Opened::Absent => panic!("absent"),
        }
    }

    fn bytes(&mut self, addr: u64, bytes: &[u8]) {
        self.memory.write_bytes(addr, bytes).expect("mapped");
    }

    fn poke(&mut self, addr: u64, value: u64) {
        self.bytes(addr, &value.to_le_bytes());
    }

    /// A store of the program, of which the reader is told.
    fn store(&mut self, addr: u64, value: u64) -> Result<Option<Turn>, String> {
        self.poke(addr, value);
        let store = Store {
            addr,
            size: 8,
            value,
        };
        let reader = self.reader.as_mut().expect("opened");
        reader.stored(store, &self.memory, &mut self.names)
    }

    fn room(&mut self, bytes: u64) -> u64 {
        let addr = self.free;
        self.free += bytes.next_multiple_of(16);
        addr
    }

    /// A string of characters of so many bytes.
    fn text(&mut self, text: &str, bytes_each: u64) -> u64 {
        let is_ascii = text.is_ascii();
        let addr = self.room(0x100);
        let state = bytes_each << 2 | 1 << 5 | u64::from(is_ascii) << 6;
        self.poke(addr + offset::STATE, state);
        self.poke(addr + offset::LENGTH, text.chars().count() as u64);
        let mut at = addr + offset::TEXT + if is_ascii { 0 } else { 16 };
        for character in text.chars() {
            let number = u32::from(character).to_le_bytes();
            self.bytes(at, &number[..bytes_each as usize]);
            at += bytes_each;
        }
        addr
    }

    /// A code object whose instructions lie on the lines from the first one on, two on each.
    fn code(&mut self, name: u64, first_line: u64, lines: u64) -> u64 {
        let table: Vec<u8> = (0..lines)
            .flat_map(|line| [0x80 | 13 << 3 | 1, if line == 0 { 0 } else { 2 }])
            .collect();
        let bytes = self.room(offset::BYTES + table.len() as u64);
        self.poke(bytes + offset::BYTES_SIZE, table.len() as u64);
        self.bytes(bytes + offset::BYTES, &table);
        let file = self.text("/a.py", 1);
        let code = self.room(0x80);
        self.poke(code + offset::TYPE, CODE_TYPE);
        self.poke(code + offset::NAME, name);
        self.poke(code + offset::FILE, file);
        self.poke(code + offset::LINES, bytes);
        self.poke(code + offset::FIRST_LINE, first_line);
        code
    }

    fn frame(&mut self, executable: u64, previous: u64, owner: u8) -> u64 {
        let frame = self.room(0x20);
        self.poke(frame + offset::EXECUTABLE, executable);
        self.poke(frame + offset::PREVIOUS, previous);
        self.bytes(frame + offset::OWNER, &[owner]);
        frame
    }

    /// The frame runs, and executes the instruction of this number.
    fn runs(&mut self, frame: u64) -> Option<Turn> {
        self.store(THREAD + offset::FRAME, frame).expect("readable")
    }

    fn executes(&mut self, frame: u64, code: u64, instruction: u64) -> Option<Turn> {
        let addr = code + offset::BEGIN + 2 * instruction;
        self.store(frame + offset::INSTRUCTION, addr)
            .expect("readable")
    }

    /// Functions with lines between two paths.
    fn path(&self, base: PathId, path: PathId) -> String {
        let places = self.names.places_behind(base, path);
        let named = places.into_iter().map(|number| {
            let place = self.names.place(number);
            let function = &self.names.functions()[place.function as usize];
            format!("{}:{}", function.name, place.line)
        });
        named.collect::<Vec<_>>().join(" ")
    }

    fn own_path(&self, turn: Option<Turn>) -> String {
        let turn = turn.expect("a turn");
        self.path(turn.base, turn.path)
    }
}

#[test]
fn turns_follow_calls_lines_returns_and_activations() {
    let mut world = World::new();
    world.open();
    let outer_name = world.text("outer", 1);
    let inner_name = world.text("Klasse.größer", 1);
    let third_name = world.text("αβγ", 2);
    let outer = world.code(outer_name, 10, 3);
    let inner = world.code(inner_name, 20, 3);
    let third = world.code(third_name, 30, 3);
    let loop_frame = world.frame(0, 0, 3);
    let first = world.frame(outer, loop_frame, 0);
    // A frame that has begun is known with its first instruction.
    assert_eq!(world.runs(first), None);
    let turn = world.executes(first, outer, 0);
    assert_eq!(world.own_path(turn), "outer:10");
    assert_eq!(turn.expect("a turn").anchor, loop_frame);
    assert_eq!(world.executes(first, outer, 1), None);
    let turn = world.executes(first, outer, 2);
    assert_eq!(world.own_path(turn), "outer:11");
    // A call by the loop itself.
    let second = world.frame(inner, first, 0);
    world.runs(second);
    let turn = world.executes(second, inner, 4);
    assert_eq!(world.own_path(turn), "outer:11 Klasse.größer:22");
    // A call by native code that enters the loop once more.
    let inner_loop = world.frame(0, second, 3);
    let fourth = world.frame(third, inner_loop, 0);
    world.runs(fourth);
    let turn = world.executes(fourth, third, 0);
    assert_eq!(world.own_path(turn), "αβγ:30");
    let turn = turn.expect("a turn");
    assert_eq!(turn.anchor, inner_loop);
    let whole = world.path(PathId::EMPTY, turn.path);
    assert_eq!(whole, "outer:11 Klasse.größer:22 αβγ:30");
    // The activation ends: first its frame of the loop is current, then the caller.
    let ends = world.runs(inner_loop);
    assert_eq!(world.own_path(ends), "");
    let back = world.runs(second);
    assert_eq!(world.own_path(back), "outer:11 Klasse.größer:22");
    // An error leaves two functions at once.
    let back = world.runs(loop_frame);
    assert_eq!(world.own_path(back), "");
    let calls: Vec<u64> = (0..3).map(|at| world.names.calls(at)).collect();
    assert_eq!(calls, [1, 1, 1]);
}

#[test]
fn frames_that_were_there_before_are_read() {
    let mut world = World::new();
    let name = world.text("f", 1);
    let code = world.code(name, 1, 2);
    let loop_frame = world.frame(0, 0, 3);
    let mut frame = loop_frame;
    for _ in 0..3 {
        frame = world.frame(code, frame, 0);
        world.poke(frame + offset::INSTRUCTION, code + offset::BEGIN + 4);
    }
    world.poke(THREAD + offset::FRAME, frame);
    world.open();
    let turn = world.executes(frame, code, 1);
    assert_eq!(world.own_path(turn), "f:2 f:2 f:1");
}

#[test]
fn threads_come_and_go() {
    let mut world = World::new();
    world.open();
    let name = world.text("f", 1);
    let code = world.code(name, 1, 1);
    let other = world.room(0x40);
    let frame = world.frame(code, 0, 0);
    // Nobody watches a thread that no list names.
    assert_eq!(world.store(other + offset::FRAME, frame), Ok(None));
    assert_eq!(world.executes(frame, code, 0), None);
    world
        .store(THREAD + offset::NEXT_THREAD, other)
        .expect("readable");
    world.store(other + offset::FRAME, frame).expect("readable");
    let turn = world.executes(frame, code, 0);
    assert_eq!(world.own_path(turn), "f:1");
    // A list in a circle ends.
    world
        .store(other + offset::NEXT_THREAD, THREAD)
        .expect("readable");
    world
        .store(THREAD + offset::NEXT_THREAD, 0)
        .expect("readable");
    world.store(other + offset::FRAME, 0).expect("readable");
    assert_eq!(world.executes(frame, code, 0), None);
}

#[test]
fn memory_of_a_code_object_is_used_again() {
    let mut world = World::new();
    world.open();
    let (first, second) = (world.text("first", 1), world.text("second", 1));
    let code = world.code(first, 1, 1);
    let frame = world.frame(code, 0, 0);
    world.runs(frame);
    let turn = world.executes(frame, code, 0);
    assert_eq!(world.own_path(turn), "first:1");
    world.runs(0);
    world.poke(code + offset::NAME, second);
    world.runs(frame);
    let turn = world.executes(frame, code, 0);
    assert_eq!(world.own_path(turn), "second:1");
}

#[test]
fn frames_without_end_stop_the_reader() {
    let mut world = World::new();
    world.open();
    let name = world.text("f", 1);
    let code = world.code(name, 1, 1);
    let around = world.frame(code, 0, 0);
    let frame = world.frame(code, around, 0);
    world.poke(around + offset::PREVIOUS, frame);
    world.runs(frame);
    let ended = world.store(frame + offset::INSTRUCTION, code + offset::BEGIN);
    let reason = ended.expect_err("an end");
    assert!(reason.contains("do not end"), "{reason}");
}

#[test]
fn other_versions_are_refused_with_a_remedy() {
    let refused = |word: u64, value: u64| {
        let mut world = World::new();
        world.poke(RUNTIME + 8 * word, value);
        match python::open(RUNTIME, &world.memory) {
            Opened::Refused(reason) => reason,
            Opened::Absent => "absent".to_owned(),
            Opened::Read(_) => "read".to_owned(),
        }
    };
    let newer = refused(1, 0x030e_00f0);
    assert!(newer.contains("CPython 3.14.0") && newer.contains("run the script with CPython 3.13"));
    assert!(refused(0, 7).contains("in no table"));
    assert!(refused(2, 1).contains("global lock"));
    assert!(refused(5, 1 << 40).contains("damaged"));
    assert_eq!(refused(0, 0), "absent");
    assert_eq!(refused(1, 0x030d_02f0), "read");
    let nowhere = Memory::new(1 << 20).expect("memory");
    assert!(matches!(python::open(RUNTIME, &nowhere), Opened::Absent));
}

/// Words of the state are overwritten at random, and the program goes on: every pointer may lead anywhere.
#[test]
fn a_damaged_state_leads_nowhere_and_harms_nobody() {
    let mut random = 1_u64;
    let mut draw = |end: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
        (random >> 33) % end
    };
    let mut named = 0;
    for _ in 0..300 {
        let mut world = World::new();
        world.open();
        let name = world.text("f", 1);
        let code = world.code(name, 1, 4);
        let mut frames = vec![world.frame(0, 0, 3)];
        for depth in 0..6 {
            frames.push(world.frame(code, frames[depth], 0));
        }
        let end = (world.free - BASE) / 8;
        for step in 0..60 {
            let value = match draw(4) {
                0 => draw(1 << 31) << draw(33),
                1 => 0,
                _ => BASE + 8 * draw(end),
            };
            let addr = BASE + 0x300 + 8 * draw(end - 0x60);
            world.poke(addr, value);
            let frame = frames[draw(7) as usize];
            let told = match step % 3 {
                0 => world.store(THREAD + offset::FRAME, frame),
                1 => world.store(frame + offset::INSTRUCTION, code + draw(0x80)),
                _ => world.store(addr, value),
            };
            let Ok(turn) = told else { break };
            named += u64::from(turn.is_some());
        }
    }
    assert!(named > 1000, "{named}");
}

/// Tables and lines as CPython 3.11, whose tables have the same form, has made and read them (`co_linetable`, `co_lines`).
#[test]
fn lines_are_those_that_cpython_reads() {
    let long = "f88000f004060515f00201101af00001101af00001101af00001101a9831f00001101af10001101af40001101af50a00090e8865890c8c0c880c880cf8\
                f507000c16f00001051ef00001051ef00001051edd0e169841d0081df8f8f8f8f00301051ef8f8f8f8f50600090e8865890c8c0c880c880cf8f8f8";
    let few = "8000d80c0de00c0ddd0c0d8871886389468c46f007030c14f000030514";
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = (0..hex.len()).step_by(2);
        digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("digits"))
            .collect()
    };
    let runs = |lines: Vec<u32>| {
        let mut runs: Vec<(u32, usize)> = Vec::new();
        for line in lines {
            match runs.last_mut() {
                Some((last, count)) if *last == line => *count += 1,
                _ => runs.push((line, 1)),
            }
        }
        runs
    };
    let expected = [
        (0, 1),
        (1, 1),
        (3, 1),
        (4, 13),
        (9, 16),
        (0, 1),
        (6, 9),
        (7, 8),
        (0, 4),
        (6, 1),
        (0, 4),
        (9, 16),
        (0, 3),
    ];
    assert_eq!(runs(python::lines_of(&bytes(long), 1)), expected);
    let expected = [(13, 1), (14, 1), (16, 1), (17, 15), (14, 2)];
    assert_eq!(runs(python::lines_of(&bytes(few), 13)), expected);
}
