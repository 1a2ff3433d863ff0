// How processes with threads end: by exit while others run (argument exit, code 3), by the last thread after main has
// ended (last, code 0, "last"), by a fault in one thread (fault, SIGSEGV), by _exit in another (group, code 5).
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *spin(void *p) {
    for (;;)
        ;
}

static void *later(void *p) {
    usleep(1000);
    puts("last");
    return 0;
}

static void *fault(void *p) {
    *(volatile int *)8 = 1;
    return 0;
}

static void *group(void *p) {
    _exit(5);
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *(*work)(void *) = !strcmp(argv[1], "last") ? later
                            : !strcmp(argv[1], "fault") ? fault
                            : !strcmp(argv[1], "group") ? group
                                                        : spin;
    pthread_create(&thread, 0, work, 0);
    if (!strcmp(argv[1], "exit"))
        exit(3);
    if (!strcmp(argv[1], "last"))
        pthread_exit(0);
    for (;;)
        ;
}
