/* Unknown flags are refused; contents and holes of files are found. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SAY(call)                                                                  \
    do {                                                                           \
        errno = 0;                                                                 \
        long result = (long)(call);                                                \
        printf("%s %ld %s\n", #call, result, errno ? strerrorname_np(errno) : ""); \
    } while (0)

int main(void) {
    int p[2], fd = open("file", O_CREAT | O_RDWR, 0644);
    write(fd, "0123456789", 10);
    SAY(syscall(SYS_dup3, fd, 50, -1));
    SAY(syscall(SYS_dup3, fd, 50, O_CLOEXEC));
    SAY(syscall(SYS_pipe2, p, 1));
    SAY(syscall(SYS_pipe2, p, O_CLOEXEC | O_NONBLOCK));
    SAY(lseek(fd, 3, SEEK_DATA));
    SAY(lseek(fd, 3, SEEK_HOLE));
    SAY(lseek(fd, 100, SEEK_DATA));
    SAY(lseek(fd, -1, SEEK_HOLE));
    SAY(lseek(fd, 0, 99));
    return 0;
}
