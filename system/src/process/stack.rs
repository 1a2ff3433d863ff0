//! The initial stack: argument count, arguments, environment, auxiliary vector, as Linux lays
//! them out (psABI, "Process Initialization"; Linux `fs/binfmt_elf.c`, `create_elf_tables`).

use std::ops::Range;

use hps_isa::layout;

use super::{Placement, ProcessConfig};
use crate::image::{LoadError, ProgramImage};
use crate::os::{Linux, OsInterface};

/// Types of auxiliary vector entries (Linux `include/uapi/linux/auxvec.h`).
mod at {
    pub const NULL: u64 = 0;
    pub const PHDR: u64 = 3;
    pub const PHENT: u64 = 4;
    pub const PHNUM: u64 = 5;
    pub const PAGESZ: u64 = 6;
    pub const BASE: u64 = 7;
    pub const FLAGS: u64 = 8;
    pub const ENTRY: u64 = 9;
    pub const UID: u64 = 11;
    pub const EUID: u64 = 12;
    pub const GID: u64 = 13;
    pub const EGID: u64 = 14;
    pub const PLATFORM: u64 = 15;
    pub const HWCAP: u64 = 16;
    pub const CLKTCK: u64 = 17;
    pub const SECURE: u64 = 23;
    pub const RANDOM: u64 = 25;
    pub const EXECFN: u64 = 31;
    pub const SYSINFO_EHDR: u64 = 33;
}

/// The initial stack.
pub(super) struct Stack {
    /// The initial stack pointer: address of the first byte.
    pub pointer: u64,
    /// The stack from there to its top.
    pub bytes: Vec<u8>,
    /// Addresses of the strings of the arguments.
    pub arguments: Range<u64>,
    /// Addresses of the strings of the environment.
    pub environment: Range<u64>,
    /// Addresses of the auxiliary vector.
    pub auxiliary: Range<u64>,
}

/// Strings collected from the top of the stack down.
struct Strings {
    /// The first address above the stack.
    top: u64,
    /// The area's bytes in reverse order.
    reversed: Vec<u8>,
}

impl Strings {
    /// Pushes bytes and returns their address.
    fn push(&mut self, bytes: &[u8]) -> u64 {
        self.reversed.extend(bytes.iter().rev());
        self.start()
    }

    /// The lowest address so far.
    fn start(&self) -> u64 {
        self.top - self.reversed.len() as u64
    }

    fn push_cstr(&mut self, text: &[u8]) -> u64 {
        self.reversed.push(0);
        self.push(text)
    }
}

/// Texts that a program gets from its parent. They hold no zero bytes.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// The path under which it was started.
    pub file_name: Vec<u8>,
    /// Arguments of the program.
    pub args: Vec<Vec<u8>>,
    /// Environment of the program, as `name=value`.
    pub env: Vec<Vec<u8>>,
}

impl Given {
    /// The most that arguments and environment may take of the stack, in bytes.
    pub(crate) const MOST_BYTES: usize = layout::MAX_ARGUMENT_BYTES as usize;

    /// Bytes of the stack that arguments and environment take.
    fn bytes(&self) -> u64 {
        let texts = self.args.iter().chain(&self.env);
        texts.map(|text| text.len() as u64 + 1 + 8).sum()
    }

    /// Whether arguments and environment leave enough of the stack.
    pub(crate) fn fits(&self) -> bool {
        self.bytes() <= layout::MAX_ARGUMENT_BYTES
    }

    /// The texts of a configuration, with these arguments.
    ///
    /// # Errors
    /// If a text cannot be given, or all are too long together.
    pub(super) fn of(config: &ProcessConfig, args: &[String]) -> Result<Given, LoadError> {
        let env = config.env.iter();
        let given = Given {
            file_name: config.file_name.as_ref().unwrap_or(&args[0]).clone().into(),
            args: args.iter().map(|arg| arg.clone().into()).collect(),
            env: env
                .map(|(name, value)| format!("{name}={value}").into())
                .collect(),
        };
        check_strings(args, &config.env, given.bytes())?;
        Ok(given)
    }
}

/// A program, its loader, and its vDSO.
type Images<'a> = (
    &'a ProgramImage,
    Option<&'a ProgramImage>,
    Option<&'a ProgramImage>,
);

/// The stack of a program, with what Linux has put beside it.
pub(super) fn build(images: Images<'_>, given: &Given, place: Placement, os: &mut Linux) -> Stack {
    let mut strings = Strings {
        top: place.stack_top,
        reversed: vec![0; 8],
    };
    let file_name = strings.push_cstr(&given.file_name);
    let end_of_environment = strings.start();
    let env: Vec<u64> = given
        .env
        .iter()
        .rev()
        .map(|text| strings.push_cstr(text))
        .collect();
    let end_of_arguments = strings.start();
    let argv: Vec<u64> = given
        .args
        .iter()
        .rev()
        .map(|text| strings.push_cstr(text))
        .collect();
    let start_of_arguments = strings.start();
    let platform = os.abi().platform();
    let platform = platform.map(|name| strings.push_cstr(name.as_bytes()));
    let mut random = [0; 16];
    os.fill_random(&mut random);
    let random = strings.push(&random);

    let mut words = vec![argv.len() as u64];
    words.extend(argv.iter().rev());
    words.push(0);
    words.extend(env.iter().rev());
    words.push(0);
    let words_before = words.len() as u64;
    for (kind, value) in auxiliary(images, os, file_name, random, platform) {
        words.extend([kind, value]);
    }

    let strings_start = strings.start();
    let pointer = (strings_start - words.len() as u64 * 8) & !15;
    let auxiliary = pointer + words_before * 8..pointer + words.len() as u64 * 8;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize((strings_start - pointer) as usize, 0);
    bytes.extend(strings.reversed.iter().rev());
    Stack {
        pointer,
        bytes,
        arguments: start_of_arguments..end_of_arguments,
        environment: end_of_arguments..end_of_environment,
        auxiliary,
    }
}

fn auxiliary(
    (image, loader, vdso): Images<'_>,
    os: &Linux,
    file_name: u64,
    random: u64,
    platform: Option<u64>,
) -> Vec<(u64, u64)> {
    if image.os == OsInterface::Osf1 {
        // OSF/1 has one for its loader only.
        return vec![(at::NULL, 0)];
    }
    let ids = os.ids().map(u64::from);
    let vdso = vdso.map(|vdso| (at::SYSINFO_EHDR, vdso.load_bias));
    let mut entries: Vec<(u64, u64)> = vdso.into_iter().collect();
    entries.extend([
        (at::HWCAP, os.abi().hwcap()),
        (at::PAGESZ, os.abi().page_bytes()),
        (at::CLKTCK, crate::os::CLOCK_TICKS_PER_SECOND),
        (at::PHDR, image.program_headers.addr),
        (at::PHENT, image.program_headers.entry_bytes),
        (at::PHNUM, image.program_headers.count),
        (at::BASE, loader.map_or(0, |loader| loader.load_bias)),
        (at::FLAGS, 0),
        (at::ENTRY, image.entry),
        (at::UID, ids[0]),
        (at::EUID, ids[1]),
        (at::GID, ids[2]),
        (at::EGID, ids[3]),
        (at::SECURE, 0),
        (at::RANDOM, random),
        (at::EXECFN, file_name),
    ]);
    entries.extend(platform.map(|name| (at::PLATFORM, name)));
    entries.push((at::NULL, 0));
    entries
}

fn check_strings(args: &[String], env: &[(String, String)], bytes: u64) -> Result<(), LoadError> {
    let config = |place, problem: String, remedy| LoadError::Config {
        place,
        problem,
        remedy,
    };
    if let Some(arg) = args.iter().find(|a| a.contains('\0')) {
        return Err(config(
            "args",
            format!("{arg:?} contains a zero byte"),
            "remove it",
        ));
    }
    if let Some((name, _)) = env
        .iter()
        .find(|(n, v)| n.is_empty() || n.contains(['=', '\0']) || v.contains('\0'))
    {
        let problem =
            format!("{name:?} is no name of a variable, or its value contains a zero byte");
        return Err(config(
            "env",
            problem,
            "give names without '=' and values without zero bytes",
        ));
    }
    if bytes > layout::MAX_ARGUMENT_BYTES {
        let problem = format!(
            "arguments and environment take {} bytes, more than {}",
            bytes,
            layout::MAX_ARGUMENT_BYTES
        );
        return Err(config(
            "args and env",
            problem,
            "shorten them or pass the data in a file",
        ));
    }
    Ok(())
}
