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

#[test]
fn timeouts_advance_the_clocks_and_leave_the_rest() {
    prints(
        "timeouts_advance_time.c",
        &[],
        &[],
        "poll(0, 0, 20) 1\npoll(&reader, 1, 20) 1\nppoll(&reader, 1, &request, 0) 1\n\
         select(0, 0, 0, 0, &time) 1\nrest of select 1\n\
         pselect(ends[0] + 1, &set, 0, 0, &request, 0) 1\nnone ready 1\nnanosleep(&request, 0) 1\n\
         clock_nanosleep(CLOCK_MONOTONIC, 0, &request, 0) 1\nabsolute 1\nthread clock 1\n\
         ready at once 1\nraw ppoll 1\ninvalid 1\n",
    );
}
