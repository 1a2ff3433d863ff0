#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include <pthread.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>
static __thread int own;
static void *worker(void *p) { own = *(int *)p; return (void *)(long)(own * own); }
static int by(const void *a, const void *b) { return *(int *)a - *(int *)b; }
int main(int argc, char **argv, char **env)
{
    if (argc > 1) { printf("executed %s\n", argv[1]); return 3; }
    int v[6] = {5, 2, 9, 1, 7, 3}, n;
    qsort(v, 6, sizeof *v, by);
    for (n = 0; n < 6; n++) printf("%d ", v[n]);
    printf("%.6f %s\n", sin(1) + pow(2, 0.5), strerror(ENOENT));
    pthread_t t; void *r;
    pthread_create(&t, 0, worker, &v[4]);
    pthread_join(t, &r);
    printf("thread %ld own %d\n", (long)r, own);
    void *self = dlopen(0, RTLD_NOW);
    printf("puts %d\n", dlsym(self, "puts") != 0);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    nanosleep(&(struct timespec){0, 1000000}, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("slept %d\n", (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec >= 1000000);
    char *p = malloc(1 << 20); memset(p, 1, 1 << 20); p = realloc(p, 4 << 20); printf("memory %d\n", p[1048575]); free(p);
    fflush(stdout);
    pid_t c = fork();
    if (!c) { execl("/proc/self/exe", argv[0], "x", (char *)0); _exit(9); }
    int s; waitpid(c, &s, 0); printf("child %d\n", WEXITSTATUS(s));
    FILE *f = popen("echo from a shell", "r"); char line[64]; fgets(line, 64, f); printf("%s", line); pclose(f);
    return 0;
}
