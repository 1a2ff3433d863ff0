//! Guests of Alpha: generic numbers, flags and errors to those of Linux on Alpha and back, and native
//! calls.

use hps_isa::hart::Hart;
use hps_system::os::SyscallResult;

use super::Guest;

pub const V0: usize = 31;
pub const A0: usize = 16;
pub const A3: usize = 19;
pub const A4: usize = 20;
pub const RA: usize = 26;
pub const PV: usize = 27;
pub const GP: usize = 29;
pub const SP: usize = 30;

/// Numbers of the same calls: generic, Alpha (`asm/unistd_32.h`).
const NUMBERS: [(u64, u64); 121] = [
    (17, 367),
    (92, 324),
    (112, 419),
    (118, 330),
    (119, 332),
    (120, 333),
    (121, 331),
    (122, 395),
    (125, 335),
    (126, 336),
    (127, 337),
    (140, 96),
    (141, 100),
    (143, 127),
    (144, 132),
    (145, 126),
    (146, 23),
    (147, 343),
    (148, 344),
    (149, 371),
    (150, 372),
    (151, 325),
    (152, 326),
    (154, 39),
    (155, 233),
    (156, 234),
    (157, 147),
    (158, 79),
    (159, 80),
    (171, 366),
    (283, 517),
    (19, 485),
    (20, 486),
    (21, 408),
    (22, 474),
    (441, 551),
    (23, 41),
    (24, 487),
    (25, 92),
    (29, 54),
    (32, 131),
    (34, 451),
    (35, 456),
    (38, 457),
    (45, 129),
    (46, 130),
    (47, 480),
    (48, 462),
    (49, 12),
    (50, 13),
    (52, 124),
    (53, 461),
    (54, 453),
    (55, 123),
    (56, 450),
    (57, 6),
    (59, 488),
    (61, 377),
    (62, 19),
    (63, 3),
    (64, 4),
    (65, 120),
    (66, 121),
    (67, 349),
    (68, 350),
    (71, 370),
    (72, 463),
    (73, 464),
    (78, 460),
    (79, 455),
    (80, 427),
    (81, 36),
    (82, 95),
    (83, 447),
    (84, 469),
    (88, 475),
    (93, 1),
    (94, 405),
    (96, 411),
    (98, 394),
    (99, 466),
    (101, 340),
    (113, 420),
    (115, 422),
    (123, 396),
    (124, 334),
    (129, 37),
    (130, 381),
    (131, 424),
    (132, 235),
    (133, 357),
    (134, 352),
    (135, 353),
    (136, 354),
    (153, 323),
    (160, 339),
    (165, 364),
    (167, 348),
    (169, 359),
    (172, 20),
    (178, 378),
    (179, 318),
    (213, 379),
    (215, 73),
    (216, 341),
    (214, 17),
    (222, 71),
    (227, 217),
    (223, 413),
    (226, 74),
    (261, 496),
    (267, 500),
    (276, 510),
    (278, 511),
    (279, 512),
    (285, 519),
    (286, 520),
    (287, 521),
    (291, 522),
    (293, 527),
    (436, 546),
];

/// Bits of `O_*`: generic, Alpha.
const OPEN_FLAGS: [(u64, u64); 10] = [
    (0o3, 0o3),
    (0o100, 0o1000),
    (0o200, 0o4000),
    (0o1000, 0o2000),
    (0o2000, 0o10),
    (0o4000, 0o4),
    (0o200_000, 0o100_000),
    (0o400_000, 0o200_000),
    (0o2_000_000, 0o10_000_000),
    (0o10_000_000, 0o40_000_000),
];

/// Error numbers that differ: generic, Alpha.
const ERRORS: [(i64, u64); 9] = [
    (11, 35),
    (35, 11),
    (36, 63),
    (38, 78),
    (39, 66),
    (40, 62),
    (75, 112),
    (95, 45),
    (110, 60),
];

/// A generic call as Alpha has it. What has no number there gets one that nothing has.
pub fn translate(number: u64, args: &[u64]) -> (u64, Vec<u64>) {
    let mut args = args.to_vec();
    let flags = match number {
        24 | 56 => Some(2),
        19 | 59 => Some(1),
        20 => Some(0),
        _ => None,
    };
    if let Some(flags) = flags.and_then(|index: usize| args.get_mut(index)) {
        let generic = *flags;
        let parts = OPEN_FLAGS.map(|(from, to)| {
            if from == 3 {
                generic & 3
            } else if generic & from != 0 {
                to
            } else {
                0
            }
        });
        *flags = parts.iter().fold(0, |all, part| all | part);
    }
    // RLIMIT_NOFILE
    if number == 261 && args[1] == 7 {
        args[1] = 6;
    }
    let found = NUMBERS.iter().find(|&&(generic, _)| generic == number);
    (
        found.map_or(100_000 + number % 100_000, |&(_, alpha)| alpha),
        args,
    )
}

/// The result of a call, `-errno` with generic numbers if it failed.
pub fn generic_result(hart: &Hart) -> i64 {
    if hart.r[A3] == 0 {
        return hart.r[V0] as i64;
    }
    let errno = hart.r[V0];
    let found = ERRORS.iter().find(|&&(_, alpha)| alpha == errno);
    -found.map_or(errno as i64, |&(generic, _)| generic)
}

impl Guest {
    /// Makes a call by its number on Alpha.
    pub fn raw_alpha(&mut self, number: u64, args: &[u64]) -> SyscallResult {
        let hart = &mut self.0.thread.hart;
        hart.r[V0] = number;
        hart.r[A0..A0 + 6].fill(0);
        hart.r[A0..A0 + args.len()].copy_from_slice(args);
        self.0.syscall()
    }

    /// The result of a call by its number on Alpha, or its error number.
    pub fn alpha(&mut self, number: u64, args: &[u64]) -> Result<u64, u64> {
        assert_eq!(self.raw_alpha(number, args), SyscallResult::Continue);
        let value = self.0.thread.hart.r[V0];
        match self.0.thread.hart.r[A3] {
            0 => Ok(value),
            1 => Err(value),
            flag => panic!("error flag {flag}"),
        }
    }
}
