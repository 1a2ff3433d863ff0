/* What a program does while it is observed; the first argument says what. Each way says what it computed and ends as Linux
 * ends it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t step(uint64_t x)
{
    return x * 6364136223846793005u + 1442695040888963407u;
}

__attribute__((noinline)) static uint64_t work(int steps)
{
    uint64_t x = 1;
    for (int i = 0; i < steps; i++) x = step(x);
    return x;
}

static void say(const char *what, uint64_t value)
{
    printf("%s %llu\n", what, (unsigned long long)value);
    fflush(stdout);
}

static void *thread(void *steps)
{
    return (void *)(uintptr_t)work((int)(intptr_t)steps);
}

static void two_threads(void)
{
    pthread_t one, other;
    void *first, *second;
    pthread_create(&one, 0, thread, (void *)(intptr_t)20000);
    pthread_create(&other, 0, thread, (void *)(intptr_t)30000);
    pthread_join(one, &first);
    pthread_join(other, &second);
    say("threads", (uint64_t)(uintptr_t)first ^ (uint64_t)(uintptr_t)second);
}

static void child(void)
{
    pid_t pid = fork();
    if (pid == 0) _exit((int)(work(20000) & 63));
    int status;
    waitpid(pid, &status, 0);
    say("child", (uint64_t)WEXITSTATUS(status));
    say("parent", work(20000));
}

static void execute(int in_child)
{
    say("before", work(20000));
    if (in_child && fork() != 0) {
        wait(0);
        say("behind", work(20000));
        return;
    }
    char *args[] = {"/proc/self/exe", "compute", 0};
    execv(args[0], args);
    say("no exec", (uint64_t)errno);
}

/* A child in the memory of its parent, which calls functions there before it executes a program. */
static void borrow(void)
{
    volatile uint64_t seen = work(20000);
    pid_t pid = vfork();
    if (pid == 0) {
        seen = work(300);
        char *args[] = {"/proc/self/exe", "seven", 0};
        execv(args[0], args);
        _exit(1);
    }
    int status;
    waitpid(pid, &status, 0);
    say("borrowed", (uint64_t)WEXITSTATUS(status) ^ seen);
    say("behind", work(20000));
}

extern char **environ;

static void spawn(void)
{
    char *args[] = {"/proc/self/exe", "crash", 0};
    pid_t pid;
    int status = posix_spawn(&pid, args[0], 0, 0, args, environ);
    if (status != 0) {
        say("no spawn", (uint64_t)status);
        return;
    }
    uint64_t beside = work(20000);
    waitpid(pid, &status, 0);
    say("spawned", (uint64_t)WTERMSIG(status) ^ beside);
}

/* Two children, which send numbers to each other and to their parent. */
static void pipes(void)
{
    int there[2], back[2];
    if (pipe(there) || pipe(back)) abort();
    for (int half = 0; half < 2; half++) {
        if (fork() != 0) continue;
        uint64_t x = half == 0 ? work(3000) : 0;
        for (int i = 0; i < 40; i++) {
            if (half == 1 && read(there[0], &x, sizeof x) != sizeof x) _exit(1);
            x = step(x + (uint64_t)i) + work(50);
            if (write(half == 0 ? there[1] : back[1], &x, sizeof x) != sizeof x) _exit(2);
        }
        _exit(0);
    }
    uint64_t all = 0, x;
    for (int i = 0; i < 40; i++) {
        if (read(back[0], &x, sizeof x) != sizeof x) abort();
        all = all * 31 + x + work(200);
    }
    for (int half = 0; half < 2; half++) wait(0);
    say("pipes", all);
}

/* The first process ends before its child does. */
static void outlive(void)
{
    int hold[2];
    char byte;
    if (pipe(hold)) abort();
    if (fork() != 0) {
        say("first", work(20000));
        exit(5);
    }
    close(hold[1]);
    /* The end of the file is that of the parent. */
    if (read(hold[0], &byte, 1) != 0) abort();
    say("orphan", work(60000));
}

static void *forever(void *nothing)
{
    for (;;) pause();
    return nothing;
}

/* Until no more can be made. */
static void many_threads(void)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    uint64_t made = 0;
    pthread_t one;
    while (made < 100000 && pthread_create(&one, &small, forever, 0) == 0) made++;
    say("threads made", made > 10);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "compute";
    if (!strcmp(way, "threads")) two_threads();
    else if (!strcmp(way, "child")) child();
    else if (!strcmp(way, "exec")) execute(0);
    else if (!strcmp(way, "exec-child")) execute(1);
    else if (!strcmp(way, "vfork")) borrow();
    else if (!strcmp(way, "spawn")) spawn();
    else if (!strcmp(way, "pipes")) pipes();
    else if (!strcmp(way, "outlive")) outlive();
    else if (!strcmp(way, "many")) many_threads();
    say("computed", work(20000));
    if (!strcmp(way, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "kill")) raise(SIGKILL);
    if (!strcmp(way, "seven")) return 7;
    return 0;
}
