/* Processes that are stopped and continued, named by descriptors, and executed from descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifdef __alpha__
enum { PIDFD_OPEN = 544, PIDFD_SEND_SIGNAL = 534, EXECVEAT = 513 };
#else
enum { PIDFD_OPEN = 434, PIDFD_SEND_SIGNAL = 424, EXECVEAT = 281 };
#endif

static volatile sig_atomic_t children, codes[8], conts;

static void on_child(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if (children < 8) codes[children] = info->si_code;
    children++;
}

static void on_cont(int signal)
{
    (void)signal;
    conts++;
}

static void on_usr1(int signal) { (void)signal; }

static void catches(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(signal, &action, NULL);
}

/* A child that says "ready", and then writes what it reads, for ever. */
static pid_t echo(int *to, int *from, int own_group)
{
    int in[2], out[2];
    if (pipe(in) || pipe(out)) abort();
    pid_t pid = fork();
    if (pid == 0) {
        char c = 'r';
        if (own_group) setpgid(0, 0);
        close(in[1]);
        close(out[0]);
        do {
            if (write(out[1], &c, 1) != 1) _exit(3);
        } while (read(in[0], &c, 1) == 1);
        _exit(7);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
    char c;
    if (read(*from, &c, 1) != 1 || c != 'r') abort();
    return pid;
}

static int answers(int from, int milliseconds)
{
    struct pollfd wait = {.fd = from, .events = POLLIN};
    return poll(&wait, 1, milliseconds);
}

static void stops(void)
{
    int to, from, status = 0;
    char c = 0;
    pid_t pid = echo(&to, &from, 1);
    catches(SIGCHLD, on_child, SA_RESTART);
    printf("none %d\n", waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED));
    kill(pid, SIGSTOP);
    int is_child = waitpid(pid, &status, WUNTRACED) == pid;
    printf("stopped %d %d %d\n", is_child, WIFSTOPPED(status), WSTOPSIG(status) == SIGSTOP);
    printf("once %d\n", waitpid(pid, &status, WNOHANG | WUNTRACED));
    if (write(to, "x", 1) != 1) abort();
    printf("silent %d\n", answers(from, 5));
    /* A signal waits until the process goes on. */
    kill(pid, SIGCONT);
    is_child = waitpid(pid, &status, WCONTINUED) == pid;
    printf("continued %d %d\n", is_child, WIFCONTINUED(status) != 0);
    if (read(from, &c, 1) != 1) abort();
    printf("answer %c\n", c);
    kill(pid, SIGTSTP);
    siginfo_t info = {0};
    int result = waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT);
    printf("waitid %d %d %d\n", result, info.si_code == CLD_STOPPED, info.si_status == SIGTSTP);
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGTERM);
    printf("waits %d\n", waitpid(pid, &status, WNOHANG));
    kill(pid, SIGCONT);
    while (waitpid(pid, &status, 0) != pid) {}
    printf("terminated %d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    /* That it goes on and that it ends may be told at once. */
    printf("told %d %d %d %d\n", children >= 4, (int)codes[0], (int)codes[1], (int)codes[2]);
    pid = echo(&to, &from, 1);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    printf("killed %d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void stops_itself(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGCONT, on_cont);
        raise(SIGSTOP);
        _exit(10 + conts);
    }
    waitpid(pid, &status, WUNTRACED);
    printf("itself %d\n", WIFSTOPPED(status));
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    printf("handler %d\n", WEXITSTATUS(status));
    /* Nobody could continue an orphaned group: terminal stops do nothing there. */
    pid = fork();
    if (pid == 0) {
        setsid();
        raise(SIGTSTP);
        _exit(5);
    }
    waitpid(pid, &status, WUNTRACED);
    printf("orphaned %d\n", WIFEXITED(status) && WEXITSTATUS(status) == 5);
    /* A sleep goes on over a stop. */
    pid = fork();
    if (pid == 0) {
        struct timespec time = {0, 2000000};
        _exit(nanosleep(&time, NULL) == 0 ? 0 : 1);
    }
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    printf("slept %d\n", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void descriptors(void)
{
    int to, from;
    pid_t pid = echo(&to, &from, 0);
    int fd = (int)syscall(PIDFD_OPEN, pid, 0);
    printf("open %d\n", fd >= 0);
    printf("cloexec %d\n", fcntl(fd, F_GETFD) == FD_CLOEXEC);
    printf("runs %d\n", answers(fd, 1));
    printf("there %ld\n", syscall(PIDFD_SEND_SIGNAL, fd, 0, NULL, 0));
    printf("send %ld\n", syscall(PIDFD_SEND_SIGNAL, fd, SIGKILL, NULL, 0));
    printf("ended %d\n", answers(fd, -1));
    siginfo_t info = {0};
    int result = waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    printf("waitid %d %d %d %d\n", result, info.si_pid == pid, info.si_code == CLD_KILLED, info.si_status);
    long sent = syscall(PIDFD_SEND_SIGNAL, fd, SIGTERM, NULL, 0);
    printf("gone %ld %d\n", sent, errno == ESRCH);
    long opened = syscall(PIDFD_OPEN, pid, 0);
    printf("none %ld %d\n", opened, errno == ESRCH);
    close(fd);
}

static void executes(const char *self)
{
    char *const args[] = {"again", "again", NULL};
    char *const env[] = {NULL};
    for (int way = 0; way < 2; way++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            int fd = open(self, O_RDONLY);
            if (way == 0) syscall(EXECVEAT, fd, "", args, env, AT_EMPTY_PATH);
            else syscall(EXECVEAT, AT_FDCWD, self, args, env, 0);
            _exit(9);
        }
        waitpid(pid, &status, 0);
        printf("execveat %d\n", WEXITSTATUS(status));
    }
    long result = syscall(EXECVEAT, -1, "", args, env, AT_EMPTY_PATH);
    printf("bad %ld %d\n", result, errno == EBADF);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "again")) return 4;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGUSR1, on_usr1);
    stops();
    signal(SIGCHLD, SIG_DFL);
    stops_itself();
    descriptors();
    if (argc < 2) executes(argv[0]);
    return 0;
}
