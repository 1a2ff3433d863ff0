/* Calls whose results do not depend on the machine, each printed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int step;

static void leaves(int signal, siginfo_t *info, void *context)
{
    printf("signal %d code %d at step %d\n", signal, info->si_code, step);
    siglongjmp(back, 1);
}

static void returns(int signal)
{
    printf("plain handler of %d\n", signal);
    step++;
}

static void informed(int signal, siginfo_t *info, void *context)
{
    printf("signal %d code %d from itself %d\n", signal, info->si_code, info->si_pid == getpid());
}

static void signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = leaves;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGFPE, &action, 0);
    step = 1;
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    step = 2;
    char *page = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!sigsetjmp(back, 1))
        *page = 1;
    step = 3;
    volatile int zero = 0;
    if (!sigsetjmp(back, 1))
        printf("%d\n", 5 / zero);
    signal(SIGUSR1, returns);
    raise(SIGUSR1);
    action.sa_sigaction = informed;
    sigaction(SIGUSR2, &action, 0);
    kill(getpid(), SIGUSR2);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR1);
    printf("blocked: step %d\n", step);
    sigprocmask(SIG_SETMASK, &old, 0);
    printf("unblocked: step %d\n", step);
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    printf("sigaltstack %d\n", sigaltstack(&stack, 0));
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = informed;
    sigaction(SIGUSR2, &action, 0);
    raise(SIGUSR2);
}

static void files(void)
{
    struct stat status;
    char buffer[64];
    int fd = open("made", O_CREAT | O_EXCL | O_RDWR, 0644);
    printf("open %d, again %d", fd >= 0, open("made", O_CREAT | O_EXCL | O_RDWR, 0644));
    printf(" errno %d\n", errno);
    printf("write %ld\n", (long)write(fd, "0123456789", 10));
    printf("lseek %ld\n", (long)lseek(fd, 4, SEEK_SET));
    printf("read %ld %.3s\n", (long)read(fd, buffer, 3), buffer);
    printf("pread %ld %.2s\n", (long)pread(fd, buffer, 2, 8), buffer);
    printf("fstat %d %ld %o %ld\n", fstat(fd, &status), (long)status.st_size, (int)status.st_mode & S_IFMT,
           (long)status.st_nlink);
    printf("ftruncate %d\n", ftruncate(fd, 3));
    printf("stat %d %ld\n", stat("made", &status), (long)status.st_size);
    printf("symlink target: %d errno %d\n", (int)readlink("made", buffer, 9), errno);
    printf("dup2 %d, cloexec %d\n", dup2(fd, 17), fcntl(17, F_GETFD));
    printf("fcntl %o\n", fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    close(fd);
    fd = open("made", O_WRONLY | O_APPEND | O_TRUNC);
    printf("append %ld\n", (long)write(fd, "end", 3));
    printf("rename %d\n", rename("made", "moved"));
    printf("access %d %d\n", access("made", F_OK), access("moved", R_OK | W_OK));
    printf("mkdir %d\n", mkdir("folder", 0755));
    printf("unlink folder: failed %d\n", unlink("folder"));
    printf("rmdir %d\n", rmdir("folder"));
    DIR *dir = opendir(".");
    int entries = 0;
    while (readdir(dir))
        entries++;
    closedir(dir);
    printf("entries %d\n", entries);
    void *map = mmap(0, 3, PROT_READ, MAP_PRIVATE, open("moved", O_RDONLY), 0);
    printf("mapped %.3s\n", (char *)map);
    printf("unlink %d\n", unlink("moved"));
    errno = 0;
    printf("open %d errno %d\n", open("/none/such", O_RDONLY), errno);
    printf("close %d errno %d\n", close(99), errno);
    printf("ioctl %d errno %d\n", ioctl(0, 0x402c7413, buffer), errno);
    int ends[2];
    printf("pipe %d\n", pipe(ends));
    printf("pipe write %ld\n", (long)write(ends[1], "pipe", 4));
    int waiting = 0;
    ioctl(ends[0], FIONREAD, &waiting);
    printf("pipe read %d %ld %.4s\n", waiting, (long)read(ends[0], buffer, 9), buffer);
}

static void arithmetic(void)
{
    volatile double one = 1, three = 3, zero = 0;
    feclearexcept(FE_ALL_EXCEPT);
    volatile double infinite = one / zero;
    printf("flags %d, %g\n", fetestexcept(FE_DIVBYZERO | FE_INVALID) == FE_DIVBYZERO, infinite);
    fesetround(FE_UPWARD);
    printf("%.20g\n", one / three);
    fesetround(FE_TONEAREST);
    printf("%.20g %.17g\n", one / three, sqrt(2));
}

int main(int argc, char **argv)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    char line[100];
    while (fgets(line, sizeof line, stdin))
        printf("line of %d\n", (int)strlen(line));
    struct utsname names;
    uname(&names);
    printf("%s %s, pages of %ld\n", names.sysname, names.machine, sysconf(_SC_PAGESIZE));
    struct rlimit limit;
    getrlimit(RLIMIT_CPU, &limit);
    printf("unlimited %d\n", limit.rlim_cur == RLIM_INFINITY);
    char *block = malloc(3 << 20);
    block = realloc(block, 30 << 20);
    block[(30 << 20) - 1] = 1;
    free(block);
    files();
    signals();
    arithmetic();
    abort();
}
