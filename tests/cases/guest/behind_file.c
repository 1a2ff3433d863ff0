/* Pages of a mapping that lie wholly behind the end of its file: each access raises SIGBUS with the code BUS_ADRERR and
   the address; the kernel's own accesses fail with EFAULT. When a file shrinks, its pages go, and when it grows, they
   come back. Each line is what Linux prints (man 2 mmap, man 7 signal). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int code;
static char *volatile at;

static void caught(int signal, siginfo_t *info, void *context) {
    (void)context;
    code = info->si_code;
    at = info->si_addr;
    siglongjmp(back, signal);
}

static const char *name(int signal, char *p) {
    static char text[64];
    if (signal == 0) return "fine";
    snprintf(text, sizeof text, "%s %d%s", signal == SIGBUS ? "SIGBUS" : "SIGSEGV", code, at == p ? "" : " elsewhere");
    return text;
}

static const char *reads(char *p) {
    int signal = sigsetjmp(back, 1);
    if (signal == 0) (void)*(volatile char *)p;
    return name(signal, p);
}

static const char *writes(char *p) {
    int signal = sigsetjmp(back, 1);
    if (signal == 0) *(volatile char *)p = 'w';
    return name(signal, p);
}

static const char *calls(char *p) {
    int signal = sigsetjmp(back, 1);
    if (signal == 0) ((void (*)(void))p)();
    return name(signal, p);
}

static int file;
static void *truncates(void *unused) {
    (void)unused;
    if (ftruncate(file, 0) != 0) perror("ftruncate");
    return NULL;
}

/* With an argument without child processes. */
int main(int words, char **word) {
    (void)word;
    long page = sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    file = open("behind", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, "abc", 3) != 3) return 1;
    int both = PROT_READ | PROT_WRITE;
    char *shared = mmap(NULL, 4 * page, both, MAP_SHARED, file, 0);
    char *private = mmap(NULL, 4 * page, both, MAP_PRIVATE, file, 0);
    char *constant = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, file, 0);

    printf("in the last page: %s,", reads(shared + 3));
    printf(" %s, %d\n", reads(private + page - 1), shared[page - 1]);
    printf("shared: %s,", reads(shared + page));
    printf(" %s\n", writes(shared + 2 * page + 5));
    printf("private: %s,", reads(private + page + 1));
    printf(" %s\n", writes(private + 3 * page));
    printf("constant: %s,", reads(constant + page));
    printf(" %s\n", writes(constant + page));

    int pipes[2];
    if (pipe(pipes) != 0) return 1;
    errno = 0;
    int sent = (int)write(pipes[1], shared + page, 1);
    printf("write from there: %d %s\n", sent, strerror(errno));
    if (write(pipes[1], "xy", 2) != 2) return 1;
    errno = 0;
    int received = (int)read(pipes[0], private + page, 2);
    printf("read to there: %d %s\n", received, strerror(errno));

    if (ftruncate(file, 2 * page + 1) != 0) return 1;
    printf("grown: %s,", writes(shared + page));
    printf(" %s,", writes(private + 2 * page));
    printf(" %c %c,", shared[page], private[2 * page]);
    printf(" %s\n", reads(shared + 3 * page));
    if (pwrite(file, "q", 1, 3 * page) != 1) return 1;
    printf("written: %c %c %c\n", shared[3 * page], private[3 * page], constant[page]);

    private[page + 7] = 'p';
    if (truncate("behind", page) != 0) return 1;
    printf("shrunk: %s,", reads(shared + page));
    printf(" %s,", reads(private + page + 7));
    printf(" %s\n", reads(private + page - 1));
    if (ftruncate(file, 4 * page) != 0) return 1;
    printf("grown again: %d %d\n", shared[page], private[page + 7]);

    /* The end inside a page: the rest of it is zero. */
    memset(shared, 'z', 100);
    if (ftruncate(file, 50) != 0) return 1;
    printf("rest of the page: %c %d\n", shared[49], shared[50]);

    printf("protected: %d", mprotect(shared + page, page, PROT_READ));
    printf(" %s,", reads(shared + page));
    printf(" %s,", writes(shared + page));
    printf(" %d\n", mprotect(shared + page, page, both));
    if (ftruncate(file, 2 * page) != 0) return 1;
    printf("after that: %s\n", writes(shared + page));

    char *moved = mremap(private, 4 * page, 5 * page, MREMAP_MAYMOVE);
    printf("moved: %s,", reads(moved + page));
    printf(" %s,", reads(moved + 2 * page));
    printf(" %s\n", reads(moved + 4 * page));

    if (words > 1) {
        if (ftruncate(file, page) != 0) return 1;
        printf("alone: %s\n", reads(shared + page));
        if (ftruncate(file, 2 * page) != 0) return 1;
    } else {
        int child = fork();
        if (child == 0) {
            if (ftruncate(file, page) != 0) _exit(1);
            printf("child: %s\n", reads(shared + page));
            signal(SIGBUS, SIG_DFL);
            *(volatile char *)(shared + page);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        printf("parent: %s, child ended by %s\n", reads(shared + page),
               WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS ? "SIGBUS" : "something else");
        child = fork();
        if (child == 0) _exit(ftruncate(file, 2 * page) != 0);
        waitpid(child, &status, 0);
    }
    printf("and back: %s\n", reads(shared + page));

    pthread_t thread;
    pthread_create(&thread, NULL, truncates, NULL);
    pthread_join(thread, NULL);
    printf("another thread: %s\n", reads(shared));
    if (ftruncate(file, page) != 0) return 1;
    printf("opened anew: %s,", reads(shared));
    close(open("behind", O_WRONLY | O_TRUNC));
    printf(" %s\n", reads(shared));

    char *code_page = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    printf("called: %s\n", calls(code_page + page));
    unlink("behind");
    return 0;
}
