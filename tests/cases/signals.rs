//! Signals, timers, clocks and waits.

use super::build::prints;

#[test]
fn sleeps_advance_the_clocks_but_not_cpu_time() {
    prints(
        "sleep_advances_time.c",
        &[],
        &[],
        "nanosleep 1\ncpu 1\nrelative 1\nabsolute 1\ngetrandom 1\n",
    );
}
