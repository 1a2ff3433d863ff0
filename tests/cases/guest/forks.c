/* A process with so many MiB, all written, has so many children at the same time, which each write to eight pages. The
   parent writes to a page between two children. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WRITES = 8 };

int main(int argc, char **argv)
{
    if (argc < 3) return 1;
    long size = atol(argv[1]) << 20;
    int children = atoi(argv[2]), go[2], ended = 0, right = 0, status;
    char *memory = malloc(size), c;
    memset(memory, 1, size);
    if (pipe(go)) return 1;
    for (long child = 0; child < children; child++) {
        memory[child * PAGE] = 2;
        if (fork() == 0) {
            for (int i = 0; i < WRITES; i++)
                memory[size / 2 + i * PAGE] += 1 + child;
            long sum = 0;
            if (read(go[0], &c, 1) != 1) _exit(0);
            for (long i = 0; i < size; i += PAGE)
                sum += memory[i];
            /* What the parent has written before, and what it has written itself. */
            _exit(sum == size / PAGE + (child + 1) + WRITES * (child + 1));
        }
    }
    for (int i = 0; i < children; i++)
        if (write(go[1], "x", 1) != 1) return 1;
    while (wait(&status) > 0) {
        ended++;
        right += WEXITSTATUS(status);
    }
    printf("%d children, %d right\n", ended, right);
    return 0;
}
