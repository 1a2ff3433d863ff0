/* Each kind of descriptor: its name, positions and readiness; signals in buffers; a sender whose receiver goes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *answer(long result)
{
    static char text[40];
    if (result < 0)
        return strerrorname_np(errno);
    snprintf(text, sizeof text, "%ld", result);
    return text;
}

/* What a descriptor is; a number in its name is left out. */
static void show(const char *name, int fd)
{
    char path[40], link[80] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    long len = readlink(path, link, sizeof link - 1);
    for (char *at = link; len > 0 && *at; at++)
        if (*at >= '0' && *at <= '9')
            *at = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN | POLLOUT};
    int count = poll(&ready, 1, 0);
    char byte;
    printf("%s: %s, %d %#x,", name, link, count, ready.revents);
    printf(" lseek %s,", answer(lseek(fd, 0, SEEK_CUR)));
    printf(" pread %s\n", answer(pread(fd, &byte, 0, 0)));
}

static volatile int raised;

static void count_signal(int number)
{
    (void)number;
    raised++;
}

/* Takes some of what the other thread sends, and goes. */
static void *read_and_go(void *end)
{
    char some[1000];
    usleep(10000);
    read(*(int *)end, some, sizeof some);
    close(*(int *)end);
    return NULL;
}

int main(void)
{
    int pipes[2], pair[2];
    pipe2(pipes, O_NONBLOCK);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_NONBLOCK);
    show("pipe", pipes[0]);
    show("socket", pair[0]);
    show("eventfd", eventfd(0, EFD_NONBLOCK));
    show("counting eventfd", eventfd(7, EFD_NONBLOCK));
    show("timerfd", timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
    show("epoll", epoll_create1(0));
    show("signalfd", signals);
    show("inotify", inotify_init1(IN_NONBLOCK));
    show("null", open("/dev/null", O_RDWR));
    show("zero", open("/dev/zero", O_RDWR));

    /* A signal, by readv. */
    raise(SIGUSR1);
    struct signalfd_siginfo info;
    char *at = (char *)&info;
    struct iovec whole = {at, sizeof info};
    printf("signal %s", answer(readv(signals, &whole, 1)));
    printf(" %d, then", (int)info.ssi_signo == SIGUSR1);
    printf(" %s\n", answer(readv(signals, &whole, 1)));

    /* A sender that waits for room learns what was sent, without a signal; the next one gets that. */
    static char much[8 << 20];
    int stream[2];
    pthread_t reader;
    signal(SIGPIPE, count_signal);
    socketpair(AF_UNIX, SOCK_STREAM, 0, stream);
    pthread_create(&reader, NULL, read_and_go, &stream[1]);
    long sent = send(stream[0], much, sizeof much, 0);
    pthread_join(reader, NULL);
    printf("sent some %d, signals %d\n", sent > 0 && sent < (long)sizeof much, raised);
    printf("send %s,", answer(send(stream[0], much, 1, 0)));
    printf(" signals %d\n", raised);
    return 0;
}
