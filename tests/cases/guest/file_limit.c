/* Files grow only up to the limit that the run sets, holes included, and up to RLIMIT_FSIZE. With --file-limit 4
   and --max-open-files 8 each line is as a small disk and a small RLIMIT_NOFILE give it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#define SAY(call)                                                                  \
    do {                                                                           \
        errno = 0;                                                                 \
        long result = (long)(call);                                                \
        printf("%s %ld %s\n", #call, result, errno ? strerrorname_np(errno) : ""); \
    } while (0)

static char piece[1 << 20];

int main(void) {
    int big = open("big", O_CREAT | O_RDWR, 0644);
    SAY(ftruncate(big, 1L << 62));
    SAY(ftruncate(big, 1L << 40));
    SAY(pwrite(big, "x", 1, 1L << 43));
    SAY(ftruncate(big, 1 << 20));
    SAY(ftruncate(big, 0));
    long mib = 0;
    while (write(big, piece, sizeof piece) == sizeof piece)
        mib++;
    printf("%ld MiB, then %s\n", mib, strerrorname_np(errno));
    SAY(pwrite(big, "y", 1, 0));
    SAY(ftruncate(big, 100));
    SAY(pwrite(big, "z", 1, 200));

    struct rlimit limit = {8, 8};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    int small = open("small", O_CREAT | O_RDWR, 0644);
    SAY(pwrite(small, "01234567", 8, 4));
    SAY(pwrite(small, "x", 1, 8));
    SAY(ftruncate(small, 9));
    SAY(ftruncate(small, 8));
    while (dup(0) >= 0)
        ;
    printf("%s with %ld open\n", strerrorname_np(errno), sysconf(_SC_OPEN_MAX));
    fflush(stdout);
    signal(SIGXFSZ, SIG_DFL);
    pwrite(small, "x", 1, 8);
    return 0;
}
