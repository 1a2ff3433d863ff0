/* Processes: each check prints its name and "ok", or the line that failed. The same output natively and under QEMU's
   user mode, which executes no programs of its guest, has no
   subreapers and shows the host's /proc: "noexec" leaves those checks out. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failed;
#define CHECK(what) do { if (!(what)) { failed = __LINE__; return; } } while (0)

static int reap(pid_t pid) { int status = -1; return waitpid(pid, &status, 0) == pid ? status : -1; }

static int exits_with(pid_t pid, int code)
{
    int status = reap(pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static void status(void)
{
    pid_t pid = fork();
    if (pid == 0) _exit(300);
    CHECK(exits_with(pid, 300 & 255));
    CHECK(wait(NULL) == -1 && errno == ECHILD);
    CHECK(waitpid(pid, NULL, 0) == -1 && errno == ECHILD);
    CHECK(waitpid(-1, NULL, 0x40) == -1 && errno == EINVAL);
}

static void nohang(void)
{
    int fd[2];
    CHECK(pipe(fd) == 0);
    pid_t pid = fork();
    if (pid == 0) { char c; close(fd[1]); read(fd[0], &c, 1); _exit(4); }
    int status = 77;
    CHECK(waitpid(pid, &status, WNOHANG) == 0 && status == 77);
    siginfo_t info;
    memset(&info, 1, sizeof info);
    CHECK(waitid(P_PID, pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0 && info.si_signo == 0);
    close(fd[0]);
    close(fd[1]);
    CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0);
    CHECK(info.si_pid == pid && info.si_signo == SIGCHLD && info.si_code == CLD_EXITED && info.si_status == 4);
    CHECK(waitid(P_PID, pid, &info, WEXITED) == 0 && info.si_status == 4);
    CHECK(waitid(P_PID, pid, &info, WEXITED) == -1 && errno == ECHILD);
    CHECK(waitid(P_PID, pid, &info, WNOHANG) == -1 && errno == EINVAL);
}

static void killed(void)
{
    int signals[] = {SIGKILL, SIGTERM, SIGUSR1, SIGABRT};
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        if (pid == 0) { if (signals[i] == SIGABRT) abort(); for (;;) pause(); }
        if (signals[i] != SIGABRT) CHECK(kill(pid, signals[i]) == 0);
        int status = reap(pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        CHECK(kill(pid, 0) == -1 && errno == ESRCH);
    }
    pid_t pid = fork();
    if (pid == 0) { for (;;) ; }
    kill(pid, SIGKILL);
    int status = reap(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void fault(void)
{
    pid_t pid = fork();
    if (pid == 0) { struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none); *(volatile int *)8 = 1; _exit(0); }
    int status = reap(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static int value = 1;

static void memory(void)
{
    volatile int local = 10;
    char *heap = strdup("parent");
    pid_t pid = fork();
    if (pid == 0) { value = 2; local = 20; strcpy(heap, "child"); free(malloc(1 << 20)); _exit(value + local); }
    CHECK(exits_with(pid, 22));
    CHECK(value == 1 && local == 10 && strcmp(heap, "parent") == 0);
    free(heap);
}

static void offset(void)
{
    int fd = memfd_create("offset", 0);
    CHECK(fd >= 0 && write(fd, "abcdef", 6) == 6 && lseek(fd, 0, SEEK_SET) == 0);
    pid_t pid = fork();
    char text[8] = "";
    if (pid == 0) { read(fd, text, 3); _exit(strcmp(text, "abc") == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : 1); }
    CHECK(exits_with(pid, 0));
    CHECK(read(fd, text, 3) == 3 && strcmp(text, "def") == 0);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
}

static void pipes(void)
{
    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(to[1]); close(from[0]);
        char c; int sum = 0;
        while (read(to[0], &c, 1) == 1) { sum += c; c++; write(from[1], &c, 1); }
        _exit(sum & 127);
    }
    close(to[0]); close(from[1]);
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        char c = i, d;
        CHECK(write(to[1], &c, 1) == 1 && read(from[0], &d, 1) == 1 && d == i + 1);
        sum += i;
    }
    close(to[1]);
    char c;
    CHECK(read(from[0], &c, 1) == 0);
    close(from[0]);
    CHECK(exits_with(pid, sum & 127));
    CHECK(pipe(to) == 0);
    pid = fork();
    if (pid == 0) { static char block[1 << 18]; close(to[0]); write(to[1], block, sizeof block); _exit(1); }
    close(to[1]);
    CHECK(read(to[0], &c, 1) == 1);
    close(to[0]);
    int status = reap(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

static volatile sig_atomic_t children, last_pid, last_status, last_code;

static void on_child(int signal, siginfo_t *info, void *context)
{
    (void)signal; (void)context;
    last_pid = info->si_pid; last_status = info->si_status; last_code = info->si_code;
    children++;
}

static void sigchld(void)
{
    struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO}, before;
    CHECK(sigaction(SIGCHLD, &action, &before) == 0);
    sigset_t block, old;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &old);
    pid_t pid = fork();
    if (pid == 0) _exit(9);
    while (children == 0) sigsuspend(&old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    CHECK(children == 1 && last_pid == pid && last_status == 9 && last_code == CLD_EXITED);
    CHECK(exits_with(pid, 9));
    pid = fork();
    if (pid == 0) { struct timespec t = {0, 1000000}; nanosleep(&t, NULL); _exit(0); }
    struct timespec t = {100, 0}, rest;
    CHECK(nanosleep(&t, &rest) == -1 && errno == EINTR && rest.tv_sec >= 90);
    CHECK(exits_with(pid, 0));
    sigaction(SIGCHLD, &before, NULL);
}

static void ignored(void)
{
    signal(SIGCHLD, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) _exit(3);
    CHECK(waitpid(pid, NULL, 0) == -1 && errno == ECHILD);
    signal(SIGCHLD, SIG_DFL);
}

static void groups(void)
{
    pid_t own = getpid(), group = 0, pids[3];
    CHECK(getpgid(0) == getpgrp());
    for (int i = 0; i < 3; i++) {
        pids[i] = fork();
        if (pids[i] == 0) { for (;;) pause(); }
        CHECK(setpgid(pids[i], group) == 0);
        if (i == 0) group = pids[0];
        CHECK(getpgid(pids[i]) == group);
    }
    CHECK(getpid() == own);
    CHECK(waitpid(0, NULL, WNOHANG) == -1 && errno == ECHILD);
    CHECK(kill(-group, SIGTERM) == 0);
    for (int i = 0; i < 3; i++) {
        int status;
        CHECK(waitpid(-group, &status, 0) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
    CHECK(kill(-group, 0) == -1 && errno == ESRCH);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t session = setsid();
        int good = session == getpid() && getsid(0) == session && getpgrp() == session && setsid() == -1;
        _exit(good && getppid() == own ? 0 : 1);
    }
    CHECK(exits_with(pid, 0));
}

static void orphans(void)
{
    int fd[2];
    CHECK(pipe(fd) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t middle = getpid();
        if (fork() == 0) {
            while (getppid() == middle) { struct timespec t = {0, 1000000}; nanosleep(&t, NULL); }
            write(fd[1], "o", 1);
            _exit(0);
        }
        _exit(1);
    }
    CHECK(exits_with(pid, 1));
    close(fd[1]);
    char c;
    CHECK(read(fd[0], &c, 1) == 1 && c == 'o' && read(fd[0], &c, 1) == 0);
    close(fd[0]);
    CHECK(wait(NULL) == -1 && errno == ECHILD);
}

static void reaper(void)
{
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t own = getpid(), pid = fork();
    if (pid == 0) { if (fork() == 0) { while (getppid() != own) ; _exit(6); } _exit(5); }
    int codes = 0, status;
    for (int i = 0; i < 2; i++) CHECK(wait(&status) > 0 && (codes += WEXITSTATUS(status)));
    CHECK(codes == 11);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void borrowed(void)
{
    static volatile int seen;
    pid_t pid = vfork();
    if (pid == 0) { seen = 5; _exit(7); }
    CHECK(exits_with(pid, 7));
    (void)seen;
}

static void locks(void)
{
    int fd = memfd_create("locks", 0), ready[2];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    CHECK(ftruncate(fd, 100) == 0 && pipe(ready) == 0 && fcntl(fd, F_SETLK, &lock) == 0);
    pid_t own = getpid(), pid = fork();
    if (pid == 0) {
        struct flock mine = lock;
        int refused = fcntl(fd, F_SETLK, &mine) == -1 && (errno == EAGAIN || errno == EACCES);
        int told = fcntl(fd, F_GETLK, &mine) == 0 && mine.l_pid == own && mine.l_type == F_WRLCK;
        mine = lock;
        write(ready[1], "r", 1);
        _exit(refused && told && fcntl(fd, F_SETLKW, &mine) == 0 ? 0 : 1);
    }
    char c;
    CHECK(read(ready[0], &c, 1) == 1);
    struct timespec t = {0, 2000000};
    nanosleep(&t, NULL);
    lock.l_type = F_UNLCK;
    CHECK(fcntl(fd, F_SETLK, &lock) == 0);
    CHECK(exits_with(pid, 0));
    close(fd);
    close(ready[0]);
    close(ready[1]);
}

static void shared(void)
{
    int *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    shared[0] = 1;
    pid_t pid = fork();
    if (pid == 0) {
        while (__atomic_load_n(&shared[1], __ATOMIC_ACQUIRE) == 0) ;
        __atomic_fetch_add(&shared[0], shared[1], __ATOMIC_SEQ_CST);
        _exit(0);
    }
    __atomic_store_n(&shared[1], 41, __ATOMIC_RELEASE);
    CHECK(exits_with(pid, 0));
    CHECK(shared[0] == 42);
    munmap(shared, 8192);
}

static void *forks(void *result)
{
    pid_t pid = fork();
    if (pid == 0) _exit(11);
    *(int *)result = exits_with(pid, 11);
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    int result = 0;
    CHECK(pthread_create(&thread, NULL, forks, &result) == 0 && pthread_join(thread, NULL) == 0 && result);
}

static void many(void)
{
    int sum = 0, status;
    for (int i = 0; i < 40; i++) if (fork() == 0) { for (volatile int j = 0; j < 5000; j++) ; _exit(i); }
    for (int i = 0; i < 40; i++) { CHECK(wait(&status) > 0); sum += WEXITSTATUS(status); }
    CHECK(sum == 780 && wait(&status) == -1 && errno == ECHILD);
}

static void inherits(void)
{
    sigset_t set, old, now;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t pending;
        sigprocmask(SIG_BLOCK, NULL, &now);
        sigpending(&pending);
        _exit(sigismember(&now, SIGUSR2) && !sigismember(&pending, SIGUSR2) && alarm(0) == 0 ? 0 : 1);
    }
    CHECK(exits_with(pid, 0));
    struct timespec none = {0, 0};
    CHECK(sigtimedwait(&set, NULL, &none) == SIGUSR2);
    sigprocmask(SIG_SETMASK, &old, NULL);
    alarm(0);
}

static long micros(const struct rusage *used)
{
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000 + used->ru_utime.tv_usec + used->ru_stime.tv_usec;
}

static void times(void)
{
    struct rusage one, before, after;
    int status;
    CHECK(getrusage(RUSAGE_CHILDREN, &before) == 0);
    pid_t pid = fork();
    if (pid == 0) { for (volatile int i = 0; i < 3000000; i++) ; _exit(0); }
    CHECK(wait4(pid, &status, 0, &one) == pid && status == 0);
    CHECK(getrusage(RUSAGE_CHILDREN, &after) == 0);
    long used = micros(&one), more = micros(&after) - micros(&before);
    CHECK(used >= 100 && more >= used / 2 && more <= used * 2);
}

static void proc_files(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        char path[64], text[64] = "", link[16] = "";
        int given, parent;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)getpid());
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%d %*s %*c %d", &given, &parent) != 2) _exit(1);
        snprintf(text, sizeof text, "%d", (int)getpid());
        if (readlink("/proc/self", link, sizeof link - 1) < 0 || strcmp(link, text)) _exit(2);
        _exit(given == getpid() && parent == getppid() ? 0 : 3);
    }
    CHECK(exits_with(pid, 0));
}

extern char **environ;

static void exec(void)
{
    char *const args[] = {"other name", "arguments", "a b", "", NULL};
    char *const env[] = {"X=1", "Y=2", NULL};
    int kept = open("/dev/null", O_RDONLY), closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(kept >= 0 && closed >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        char text[32];
        snprintf(text, sizeof text, "%d %d %d", kept, closed, (int)getpid());
        char *const more[] = {"other name", "arguments", "a b", "", text, NULL};
        signal(SIGUSR1, SIG_IGN);
        struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO};
        sigaction(SIGUSR2, &action, NULL);
        execve("/proc/self/exe", more, env);
        _exit(99);
    }
    (void)args;
    CHECK(exits_with(pid, 21));
    close(kept);
    close(closed);
    CHECK(execve("/nowhere/at/all", args, env) == -1 && errno == ENOENT);
}

static int executed(int argc, char **argv)
{
    int kept, closed, pid;
    struct sigaction action;
    if (argc != 5 || strcmp(argv[0], "other name") || strcmp(argv[2], "a b") || *argv[3]) return 1;
    if (sscanf(argv[4], "%d %d %d", &kept, &closed, &pid) != 3 || pid != getpid()) return 2;
    if (!getenv("X") || strcmp(getenv("Y"), "2") || environ[2]) return 3;
    if (fcntl(kept, F_GETFD) != 0 || fcntl(closed, F_GETFD) != -1) return 4;
    if (sigaction(SIGUSR1, NULL, &action) || action.sa_handler != SIG_IGN) return 5;
    if (sigaction(SIGUSR2, NULL, &action) || action.sa_handler != SIG_DFL) return 6;
    return 21;
}

static void spawn(void)
{
    int fd[2];
    pid_t pid;
    char *const args[] = {"spawned", "echo", NULL};
    CHECK(pipe(fd) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
    posix_spawn_file_actions_addclose(&actions, fd[0]);
    CHECK(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, args, environ) == 0);
    close(fd[1]);
    char text[16] = "";
    CHECK(read(fd[0], text, 15) == 6 && strcmp(text, "spawn\n") == 0 && read(fd[0], text, 1) == 0);
    close(fd[0]);
    CHECK(exits_with(pid, 33));
    CHECK(posix_spawn(&pid, "/nowhere", NULL, NULL, args, environ) == ENOENT);
    CHECK(wait(NULL) == -1 && errno == ECHILD);
    posix_spawn_file_actions_destroy(&actions);
}

static const struct { const char *name; void (*check)(void); int executes; } checks[] = {
    {"status", status, 0}, {"nohang", nohang, 0}, {"killed", killed, 0}, {"fault", fault, 0}, {"memory", memory, 0},
    {"offset", offset, 0}, {"pipes", pipes, 0}, {"sigchld", sigchld, 0}, {"ignored", ignored, 0},
    {"groups", groups, 0}, {"orphans", orphans, 0}, {"vfork", borrowed, 0}, {"locks", locks, 0},
    {"shared", shared, 0}, {"threads", threads, 0}, {"many", many, 0}, {"inherits", inherits, 0},
    {"times", times, 0}, {"proc", proc_files, 1},
    {"reaper", reaper, 1}, {"exec", exec, 1}, {"spawn", spawn, 1},
};

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "arguments")) return executed(argc, argv);
    if (argc > 1 && !strcmp(argv[1], "echo")) { puts("spawn"); fflush(stdout); return 33; }
    int executes = argc < 2 || strcmp(argv[1], "noexec");
    int all = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].executes && !executes) continue;
        failed = 0;
        checks[i].check();
        if (failed) printf("%-10s line %d, errno %d\n", checks[i].name, failed, errno);
        else printf("%-10s ok\n", checks[i].name);
        fflush(stdout);
        all |= failed;
    }
    return all != 0;
}
