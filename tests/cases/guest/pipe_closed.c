/* `prog | head -1`: a write to a pipe that nobody reads ends a program by SIGPIPE, silently, with status 141.
   With an argument it ignores or blocks the signal, and the write fails with EPIPE. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "ignore"))
        signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && !strcmp(argv[1], "block")) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        sigprocmask(SIG_BLOCK, &set, 0);
    }
    for (long i = 0; i < 1000000; i++)
        if (printf("%ld\n", i) < 0) {
            fprintf(stderr, "%s\n", strerrorname_np(errno));
            return 1;
        }
    return 0;
}
