//! Code that an editor lays out anew: both machines fetch it from where it lies, and the program sees
//! its own addresses.

use std::sync::Arc;

use crate::common::compare::{Outcome, PROGRAM_REGISTERS};
use crate::common::random::{self, Mix};
use crate::common::{Program, machine, preset};
use hps_isa::editor::{DecodeEditor, LaidOut, laid};
use hps_isa::inst::{Inst, Op, OpClass};
use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::Predictor;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;

const LIMIT: u64 = 200_000;
/// Where the code goes.
const BASE: u64 = layout::HANDLER_BASE + 0x10_0000;

/// Lays code out with an instruction that does nothing in front of each of the program's.
#[derive(Clone)]
struct Stretched {
    isa: Isa,
    start: u64,
    code: Arc<[Inst]>,
}

impl Stretched {
    fn install(process: &mut Process) -> Stretched {
        let isa = process.image.isa;
        let start = process.thread.hart.pc;
        let words = (start..).step_by(4).map_while(|pc| {
            let word = process.mem.fetch_four_bytes(pc).ok()?;
            (word != 0).then(|| isa.decode(word))
        });
        let editor = Stretched {
            isa,
            start,
            code: words.collect(),
        };
        process.thread.hart.pc = editor.place(start, start);
        editor
    }

    fn jump(&self) -> Inst {
        Inst {
            op: match self.isa {
                Isa::Riscv64 => Op::Jal,
                Isa::Alpha => Op::AlphaBr,
            },
            class: OpClass::Jump,
            ..Inst::illegal(4)
        }
    }

    fn number(&self, addr: u64) -> Option<usize> {
        let at = (addr.checked_sub(self.start)? / 4) as usize;
        (at < self.code.len() && addr.is_multiple_of(4)).then_some(at)
    }
}

impl DecodeEditor for Stretched {
    const ENABLED: bool = false;
    const RELAYOUT: bool = true;

    fn laid_out(&self, pc: u64) -> Option<LaidOut> {
        if self.number(pc).is_some() {
            let imm = self.place(pc, pc).wrapping_sub(pc) as i64;
            let inst = Inst { imm, ..self.jump() };
            return Some(LaidOut {
                inst,
                origin: laid::INSERTED,
            });
        }
        let at = (pc.checked_sub(BASE)? / 8) as usize;
        let mut inst = *self.code.get(at)?;
        if pc.is_multiple_of(8) {
            let nothing = Inst {
                op: match self.isa {
                    Isa::Riscv64 => Op::Addi,
                    Isa::Alpha => Op::AlphaLda,
                },
                class: OpClass::IntAlu,
                ..Inst::illegal(4)
            };
            // Every fourth counts as one of a routine.
            let origin = laid::INSERTED
                | if at.is_multiple_of(4) {
                    laid::HANDLER
                } else {
                    0
                };
            return Some(LaidOut {
                inst: nothing,
                origin,
            });
        }
        let original = self.original(pc);
        if inst.class.is_direct() {
            let target = self.place(pc, inst.direct_target(original));
            inst.imm = target.wrapping_sub(pc) as i64;
        } else if inst.op == Op::Auipc {
            inst.imm += original.wrapping_sub(pc) as i64;
        }
        Some(LaidOut { inst, origin: 0 })
    }

    fn place(&self, _: u64, target: u64) -> u64 {
        let place = self.number(target).map(|at| BASE + 8 * at as u64);
        place.unwrap_or(target)
    }

    fn original(&self, pc: u64) -> u64 {
        let end = BASE + 8 * self.code.len() as u64;
        if (BASE..end).contains(&pc) {
            self.start + (pc - BASE) / 8 * 4
        } else {
            pc
        }
    }
}

fn stretched(program: &Program) -> (Process, Stretched) {
    let mut process = program.process();
    let editor = Stretched::install(&mut process);
    (process, editor)
}

/// The program ends as it does where it was linked, and both machines run the same instructions.
fn check(program: &Program, limit: u64, what: &str) {
    let plain = Outcome::plain(program.process(), limit);
    let (process, editor) = stretched(program);
    let functional = Outcome::functional(process, editor, limit);
    assert_eq!(functional.stop, plain.stop, "{what}");
    assert_eq!(functional.retired.program, plain.retired.program, "{what}");
    for r in PROGRAM_REGISTERS {
        let (ours, theirs) = (functional.hart.r[r as usize], plain.hart.r[r as usize]);
        assert_eq!(ours, theirs, "{what}: register {r}");
    }
    functional.assert_same_memory(&plain, 0..0, what);
    let retired = functional.retired;
    assert!(
        retired.inserted > 0 && retired.handler > 0,
        "{what}: {retired:?}"
    );

    let machines = [
        preset("hps-4wide"),
        machine("hps-4wide", |m| m.branch.predictor = Predictor::Perfect),
        machine("hps-4wide", |m| m.branch.ras_entries = 0),
        preset("ev5"),
    ];
    for config in machines {
        let what = format!("{what}, {} {:?}", config.name, config.branch.predictor);
        let (process, editor) = stretched(program);
        let pipeline = Outcome::pipeline(&config, process, editor, limit);
        let (process, editor) = stretched(program);
        let driven = Outcome::driven(&config, process, editor, limit);
        let cores = [Some(pipeline), driven];
        assert_eq!(
            cores[1].is_some(),
            config.name == "hps-4wide" && config.branch.predictor != Predictor::Perfect
        );
        for pipeline in cores.into_iter().flatten() {
            functional.assert_equal(&pipeline, PROGRAM_REGISTERS, &what);
            assert_eq!(
                functional.hart.pc, pipeline.hart.pc,
                "{what}: where it ended"
            );
            functional.assert_same_memory(&pipeline, 0..0, &what);
            // A breakpoint is met, and not committed, behind what is inserted in front of it.
            assert_eq!(functional.retired, pipeline.retired, "{what}");
        }
    }
}

#[test]
fn random_programs_compute_the_same_wherever_they_lie() {
    for seed in 0..24 {
        let mix = Mix {
            sync: seed % 8 == 0,
            iterations: 8,
            ..Mix::default()
        };
        let program = random::program(seed, mix);
        check(&program, LIMIT, &format!("seed {seed}"));
        check(&program, 100 + 37 * seed, &format!("seed {seed}, stopped"));
    }
}

/// Calls and returns, computed jumps, an address from the program counter, a call through the register
/// that it links.
const JUMPS_RISCV: &str = "
    li s0, 50
again:
    call one
    la t1, two
    jalr ra, 0(t1)
    auipc t2, 0
    addi t2, t2, 16
    jr t2
    ebreak
    la ra, two
    jalr ra, 0(ra)
    sd ra, 0(sp)
    addi s0, s0, -1
    bnez s0, again
    ebreak
one:
    addi s1, ra, 3
    ret
two:
    add s2, s2, ra
    jr ra
";

const JUMPS_ALPHA: &str = "
    lda s0, 50
again:
    bsr ra, one
    br t1, here
here:
    lda t1, 44(t1)
    jsr ra, (t1)
    mov t1, ra
    jsr ra, (ra)
    stq ra, 0(sp)
    lda s0, -1(s0)
    bne s0, again
    bpt
one:
    lda s1, 3(ra)
    ret
two:
    addq s2, ra, s2
    ret
";

#[test]
fn links_and_computed_jumps_are_original_addresses() {
    for (isa, text) in [(Isa::Riscv64, JUMPS_RISCV), (Isa::Alpha, JUMPS_ALPHA)] {
        let program = Program::of(isa, text, 4096);
        check(&program, LIMIT, isa.name());
        let (process, editor) = stretched(&program);
        let mut machine = Machine::with_editor(process, editor);
        let Stop::Fault(trap) = machine.run(&mut NoProbe, LIMIT) else {
            panic!("it ends with a breakpoint");
        };
        let end = program.address("one") - 4;
        assert_eq!((trap.pc, machine.process.thread.hart.pc), (end, end));
        let link =
            machine.process.thread.hart.r[usize::from(isa.parse_register("s1").unwrap_or(0))] - 3;
        assert_eq!(link, program.address("again") + 4);
    }
}
