/* Fills 64 pages and makes three children, one after the other, that each write to so many of them and say how many
   they find changed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 64, PAGE = 4096 };
static char pages[PAGES * PAGE] __attribute__((aligned(4096)));

int main(int argc, char **argv)
{
    int writes = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < PAGES; i++)
        pages[i * PAGE] = 1;
    for (int child = 0; child < 3; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0; i < writes; i++)
                pages[i * PAGE] = 2;
            int changed = 0;
            for (int i = 0; i < PAGES; i++)
                changed += pages[i * PAGE] == 2;
            _exit(changed);
        }
        int status;
        if (waitpid(pid, &status, 0) != pid) return 9;
        printf("%d ", WEXITSTATUS(status));
        fflush(stdout);
    }
    int same = 1;
    for (int i = 0; i < PAGES; i++)
        same &= pages[i * PAGE] == 1;
    puts(same ? "ok" : "changed");
    return 0;
}
