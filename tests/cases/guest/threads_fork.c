/* Threads that make processes while others compute. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;
static volatile long turns[2];

static void *forks(void *unused)
{
    long bad = 0;
    (void)unused;
    for (int i = 1; i <= 10; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) _exit(i);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != i) bad++;
    }
    return (void *)bad;
}

static void *computes(void *number)
{
    while (!stop) turns[(long)number]++;
    return NULL;
}

int main(void)
{
    pthread_t threads[6];
    long bad = 0;
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, computes, (void *)i);
    for (int i = 2; i < 6; i++) pthread_create(&threads[i], NULL, forks, NULL);
    for (int i = 2; i < 6; i++) {
        void *result;
        pthread_join(threads[i], &result);
        bad += (long)result;
    }
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("bad %ld\n", bad);
    return 0;
}
