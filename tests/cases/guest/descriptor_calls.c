/* Files in memory, copies between files, locks of two opens, pipes: what Linux answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define T(call)                                                                          \
    do {                                                                                 \
        errno = 0;                                                                       \
        long result = (long)(call);                                                      \
        printf("%s %ld %s\n", #call, result, result < 0 ? strerrorname_np(errno) : "");  \
    } while (0)

int main(void)
{
    char text[32] = "";
    int m = memfd_create("m", MFD_ALLOW_SEALING), n = memfd_create("n", MFD_CLOEXEC);
    T(write(m, "0123456789", 10));
    T(lseek(m, 2, SEEK_SET));
    T(sendfile(n, m, NULL, 5));
    loff_t in = 7, out = 5;
    T(copy_file_range(m, &in, n, &out, 99, 0));
    T(pread(n, text, sizeof text, 0));
    puts(text);
    T(fcntl(m, F_ADD_SEALS, F_SEAL_WRITE));
    T(write(m, "x", 1));
    T(fcntl(m, F_GET_SEALS));
    T(posix_fallocate(n, 0, 100));
    T(fallocate(n, FALLOC_FL_KEEP_SIZE, 0, 200));
    T(lseek(n, 0, SEEK_END));
    T(posix_fadvise(n, 0, 0, 99));
    T(syncfs(n));

    int a = open("locked", O_RDWR | O_CREAT, 0600), b = open("locked", O_RDWR);
    T(flock(a, LOCK_EX));
    T(flock(b, LOCK_SH | LOCK_NB));
    T(flock(a, LOCK_UN));
    T(flock(b, LOCK_SH | LOCK_NB));
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    T(fcntl(a, F_SETLK, &all));
    T(fcntl(b, F_SETLK, &all));
    T(fcntl(b, F_OFD_SETLK, &all));
    T(lockf(a, F_ULOCK, 0));
    T(fcntl(b, F_OFD_SETLK, &all));
    T(fcntl(a, F_OFD_SETLK, &all));

    int p[2], waiting = -1;
    struct stat ends[2];
    T(pipe(p));
    T(fstat(p[0], &ends[0]) + fstat(p[1], &ends[1]));
    T(ends[0].st_ino == ends[1].st_ino);
    T(fcntl(p[1], F_SETPIPE_SZ, 100000));
    T(write(p[1], "abc", 3));
    T(ioctl(p[0], FIONREAD, &waiting));
    T(waiting);
    int off = 0, on = 1;
    T(ioctl(a, FIOASYNC, &off));
    T(ioctl(a, FIOASYNC, &on));
    T(ioctl(p[0], FIOASYNC, &on));
    T(ioctl(p[0], FIOASYNC, &off));
    T(close_range(p[0], p[1], 0));
    T(close(p[0]));
    return 0;
}
