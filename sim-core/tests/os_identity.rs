//! Identity, scheduling and attributes of the process: what is told, kept and refused.

use crate::os_support::*;
use hps_system::image::Isa;
use hps_system::os::EPOCH_SECONDS;
use hps_system::process::ProcessConfig;

/// The guest's process, user and group.
const OWN: u64 = 1000;
const NOBODY: u64 = 99_999;
const UNCHANGED: u64 = u32::MAX as u64;

fn guest() -> Guest {
    Guest::new(&ProcessConfig::default())
}

/// Makes calls, each with its arguments and its result.
fn expect(guest: &mut Guest, calls: &[(u64, &[u64], i64)]) {
    for &(number, args, expected) in calls {
        assert_eq!(guest.call(number, args), expected, "call {number} {args:?}");
    }
}

#[test]
fn only_the_own_identity_can_be_set() {
    on_both(|| {
        let mut guest = guest();
        // setuid, setgid; setreuid, setregid; setresuid, setresgid
        for [one, two, three] in [[146, 145, 147], [144, 143, 149]] {
            expect(
                &mut guest,
                &[
                    (one, &[OWN], 0),
                    (one, &[0], EPERM),
                    (one, &[UNCHANGED], EINVAL),
                    (two, &[UNCHANGED, OWN], 0),
                    (two, &[UNCHANGED, 0], EPERM),
                    (three, &[OWN, UNCHANGED, OWN], 0),
                    (three, &[OWN, OWN, 7], EPERM),
                ],
            );
        }
        for call in [148, 150] {
            guest.put_words(BUFFER, &[0, 0]);
            assert_eq!(guest.call(call, &[BUFFER, BUFFER + 4, BUFFER + 8]), 0);
            assert_eq!(guest.word(BUFFER), OWN | OWN << 32);
            assert_eq!(guest.half(BUFFER + 8), OWN as u32);
            assert_eq!(guest.call(call, &[BUFFER, BUFFER, 1]), EFAULT);
        }
        expect(
            &mut guest,
            &[
                (151, &[0], OWN as i64),
                (152, &[0], OWN as i64),
                (158, &[0, 0], 0),
                (158, &[u64::MAX, 0], EINVAL),
                (159, &[0, 0], EPERM),
            ],
        );
    });
}

#[test]
fn groups_and_sessions_of_others_are_unknown() {
    on_both(|| {
        let mut guest = guest();
        for call in [155, 156] {
            expect(
                &mut guest,
                &[
                    (call, &[0], OWN as i64),
                    (call, &[OWN], OWN as i64),
                    (call, &[32768], ESRCH),
                    (call, &[-99i64 as u64], ESRCH),
                ],
            );
        }
        expect(
            &mut guest,
            &[
                (154, &[0, u64::MAX], EINVAL),
                (154, &[NOBODY, 0], ESRCH),
                (154, &[0, 0], EPERM),
                (157, &[], EPERM),
            ],
        );
    });
}

#[test]
fn priority_only_gets_nicer() {
    on_both(|| {
        let mut guest = guest();
        // Linux returns 20 less the nice value, except on Alpha.
        let told = |nice| if isa() == Isa::Alpha { nice } else { 20 - nice };
        expect(
            &mut guest,
            &[
                (141, &[0, 0], told(0)),
                (141, &[3, 0], EINVAL),
                (141, &[0, NOBODY], ESRCH),
                (141, &[2, 0], told(0)),
                (140, &[0, 0, 5], 0),
                (141, &[1, OWN], told(5)),
                (140, &[0, 0, 4], error(13)),
                (140, &[0, NOBODY, 9], ESRCH),
                (140, &[7, 0, 9], EINVAL),
                (140, &[0, 0, 99], 0),
                (141, &[0, 0], told(19)),
            ],
        );
    });
}

#[test]
fn policies_are_kept_and_real_time_is_refused() {
    on_both(|| {
        let mut guest = guest();
        guest.put_words(BUFFER, &[0, 1, 100]);
        let (zero, one, hundred) = (BUFFER, BUFFER + 8, BUFFER + 16);
        expect(
            &mut guest,
            &[
                (120, &[0], 0),
                (120, &[u64::MAX], EINVAL),
                (120, &[NOBODY], ESRCH),
                (119, &[0, 3, zero], 0),
                (120, &[OWN], 3),
                (119, &[0, 3, one], EINVAL),
                (119, &[0, 1, one], EPERM),
                (119, &[0, 2, hundred], EINVAL),
                (119, &[0, 77, zero], EINVAL),
                (119, &[0, 0, 0], EINVAL),
                (119, &[0, 0, 1], EFAULT),
                (119, &[NOBODY, 0, zero], ESRCH),
                (118, &[0, zero], 0),
                (118, &[0, one], EINVAL),
                (119, &[0, 5, zero], 0),
                (119, &[0, 0, zero], EPERM),
                (121, &[0, one], 0),
                (121, &[0, 0], EINVAL),
                (125, &[1], 99),
                (126, &[2], 1),
                (125, &[0], 0),
                (126, &[9], EINVAL),
                (127, &[0, zero], 0),
                (127, &[NOBODY, zero], ESRCH),
                (127, &[u64::MAX, zero], EINVAL),
            ],
        );
        assert_eq!((guest.word(zero), guest.word(one)), (0, 4_000_000));
    });
}

#[test]
fn affinity_is_one_processor() {
    on_both(|| {
        let mut guest = guest();
        guest.put_words(BUFFER, &[3, 2]);
        expect(
            &mut guest,
            &[
                (122, &[0, 8, BUFFER], 0),
                (122, &[0, 8, BUFFER + 8], EINVAL),
                (122, &[0, 0, BUFFER], EINVAL),
                (122, &[0, 8, 1], EFAULT),
                (122, &[NOBODY, 8, BUFFER], ESRCH),
                (123, &[0, 8, BUFFER + 8], 8),
            ],
        );
        assert_eq!(guest.word(BUFFER + 8), 1);
    });
}

#[test]
fn attributes_are_kept() {
    on_both(|| {
        let mut guest = guest();
        expect(
            &mut guest,
            &[
                (167, &[1, 15], 0),
                (167, &[2, BUFFER], 0),
                (167, &[1, 65], EINVAL),
                (167, &[4, 0], 0),
                (167, &[3], 0),
                (167, &[4, 2], EINVAL),
                (167, &[38, 1, 0, 0, 0], 0),
                (167, &[39, 0, 0, 0, 0], 1),
                (167, &[38, 0, 0, 0, 0], EINVAL),
                (167, &[30], 50_000),
                (167, &[9999], EINVAL),
                (92, &[UNCHANGED], 0),
                (92, &[0x0040_0000], 0),
                (92, &[UNCHANGED], 0x0040_0000),
                (283, &[0, 1], EINVAL),
                (283, &[8, 0], EPERM),
                (283, &[16, 0], 0),
                (283, &[8, 0], 0),
                (283, &[1 << 20, 0], EINVAL),
            ],
        );
        assert_eq!(guest.half(BUFFER), 15);
    });
}

#[test]
fn clocks_cannot_be_set() {
    on_both(|| {
        let mut guest = guest();
        guest.put_words(BUFFER, &[5, 0]);
        expect(
            &mut guest,
            &[
                (112, &[0, BUFFER], EPERM),
                (112, &[1, BUFFER], EINVAL),
                (112, &[0, 1], EFAULT),
                (171, &[BUFFER], EPERM),
                (171, &[1], EFAULT),
            ],
        );
        guest.put_words(BUFFER, &[0]);
        assert_eq!(guest.call(171, &[BUFFER]), 5);
        assert_eq!(guest.word(BUFFER + 72), EPOCH_SECONDS);
        assert_eq!(guest.word(BUFFER + 88), 10_000);
    });
}
