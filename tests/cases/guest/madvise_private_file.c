/* MADV_DONTNEED on a private mapping of a file gives the file's content back, on an anonymous one zeros. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    long page = sysconf(_SC_PAGESIZE);
    char byte = 42;
    int fd = open("/file", O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (fd < 0 || write(fd, &byte, 1) != 1)
        return 1;
    char *file = mmap(0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *zeros = mmap(0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(fd);
    unlink("/file");
    file[0] = 7;
    zeros[0] = 7;
    int first = madvise(file, page, MADV_DONTNEED);
    int second = madvise(zeros, page, MADV_DONTNEED);
    printf("%d %d, %d %d\n", first, file[0], second, zeros[0]);
    return 0;
}
