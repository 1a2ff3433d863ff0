/* A parent and two children that each spend most of their time in a function of their own. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sum;

#define WORK(name, step)                                                                                               \
    static void __attribute__((noipa)) name(long n)                                                                    \
    {                                                                                                                  \
        for (long i = 0; i < n; i++)                                                                                   \
            sum += i ^ step;                                                                                           \
    }
WORK(parent_works, 3)
WORK(first_child_works, 5)
WORK(second_child_works, 9)

int main(void)
{
    pid_t first = fork();
    if (first == 0) {
        first_child_works(80000);
        _exit(1);
    }
    pid_t second = fork();
    if (second == 0) {
        second_child_works(120000);
        _exit(2);
    }
    parent_works(60000);
    int status[2];
    if (waitpid(first, &status[0], 0) != first || waitpid(second, &status[1], 0) != second) return 9;
    printf("%d %d\n", WEXITSTATUS(status[0]), WEXITSTATUS(status[1]));
    return 0;
}
