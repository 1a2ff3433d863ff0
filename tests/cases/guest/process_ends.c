/* Processes that multiply, that wait for each other, and one that outlives its parent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int fd[2];
    char c;
    pid_t pid;
    if (argc < 2 || pipe(fd)) return 1;
    switch (argv[1][0]) {
    case 'b': for (;;) fork();
    case 'd':
        if (fork() == 0) read(fd[0], &c, 1);
        wait(NULL);
        return 0;
    case 'o':
        pid = fork();
        if (pid < 0) { perror("fork"); return 2; }
        if (pid == 0) { sleep(1); printf("late %d\n", (int)getppid()); fflush(stdout); pause(); }
        return 4;
    }
    return 1;
}
