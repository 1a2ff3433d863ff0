/* What private mappings show of later changes of their file: each line is what a kernel of Linux prints. Pages that the
   process may not write are the file's own. It runs in an empty folder that it may write to. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 8192

int main(void) {
    char text[PAGE];
    memset(text, 'a', sizeof text);
    int file = open("file", O_CREAT | O_RDWR, 0644);
    write(file, text, PAGE);
    write(file, text, PAGE);
    volatile char *shown = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    volatile char *shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    printf("first: %c %c\n", shown[0], shown[PAGE]);
    pwrite(file, "b", 1, 0);
    printf("written: %c\n", shown[0]);
    shared[PAGE] = 'c';
    /* Behind a call what was stored is seen on every machine. */
    getppid();
    printf("stored: %c\n", shown[PAGE]);
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        pwrite(file, "d", 1, 1);
        printf("in the child: %c\n", shown[1]);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("a child has written: %c\n", shown[1]);
    ftruncate(file, PAGE + 1);
    printf("cut off: %d %d\n", shown[PAGE], shown[PAGE + 1]);
    ftruncate(file, 2 * PAGE);
    mprotect((void *)shown, PAGE, PROT_READ | PROT_WRITE);
    shown[0] = 'e';
    pwrite(file, "f", 1, 0);
    pwrite(file, "g", 1, PAGE);
    shared[2] = 'h';
    shared[PAGE + 2] = 'i';
    getppid();
    printf("written by itself: %c %c %c\n", shown[0], shown[PAGE], shown[PAGE + 2]);
    char now[3];
    pread(file, now, 3, 0);
    printf("the file has: %.3s\n", now);
    mprotect((void *)shown, PAGE, PROT_READ);
    pwrite(file, "j", 1, 0);
    printf("still its own: %c\n", shown[0]);
    madvise((void *)shown, PAGE, MADV_DONTNEED);
    printf("given up: %c\n", shown[0]);
    return 0;
}
