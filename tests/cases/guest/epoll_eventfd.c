/* epoll over pipes and eventfds, and their time-outs. Right: each line says 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}
static int epoll, ends[2];
static int ctl(int operation, int fd, unsigned events) {
    struct epoll_event event = {events, {.fd = fd}};
    return epoll_ctl(epoll, operation, fd, &event) == 0 ? 0 : errno;
}
#define SAY(condition) printf("%s %d\n", #condition, condition)
int main(void) {
    struct epoll_event told[4];
    uint64_t value = 0, two = 2;
    char byte;
    int counter = eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK), file = open("f", O_CREAT | O_RDWR, 0644);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    pipe(ends);
    SAY(read(counter, &value, 8) == 8 && value == 1);
    SAY(read(counter, &value, 8) == 8 && read(counter, &value, 8) == 8);
    SAY(read(counter, &value, 8) == -1 && errno == EAGAIN);
    SAY(read(counter, &value, 7) == -1 && errno == EINVAL);
    SAY(write(counter, &two, 8) == 8);
    SAY(ctl(EPOLL_CTL_ADD, ends[0], EPOLLIN) == 0);
    SAY(ctl(EPOLL_CTL_ADD, ends[0], EPOLLIN) == EEXIST);
    SAY(ctl(EPOLL_CTL_MOD, ends[1], EPOLLIN) == ENOENT);
    SAY(ctl(EPOLL_CTL_DEL, ends[1], 0) == ENOENT);
    SAY(ctl(EPOLL_CTL_ADD, epoll, EPOLLIN) == EINVAL);
    SAY(ctl(EPOLL_CTL_ADD, 77, EPOLLIN) == EBADF);
    SAY(ctl(9, ends[0], EPOLLIN) == EINVAL);
    SAY(file < 0 || ctl(EPOLL_CTL_ADD, file, EPOLLIN) == EPERM);
    SAY(epoll_wait(epoll, told, 0, 0) == -1 && errno == EINVAL);
    long start = now();
    SAY(epoll_wait(epoll, told, 4, 20) == 0);
    SAY(now() - start >= 20000000 && now() - start < 40000000);
    write(ends[1], "ab", 2);
    SAY(epoll_wait(epoll, told, 4, -1) == 1 && told[0].data.fd == ends[0] && told[0].events == EPOLLIN);
    SAY(epoll_wait(epoll, told, 4, 0) == 1);
    SAY(ctl(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET) == 0);
    SAY(epoll_wait(epoll, told, 4, 0) == 1 && epoll_wait(epoll, told, 4, 0) == 0);
    SAY(write(ends[1], "c", 1) == 1 && epoll_wait(epoll, told, 4, 0) == 1);
    SAY(read(ends[0], &byte, 1) == 1 && epoll_wait(epoll, told, 4, 0) == 0);
    SAY(ctl(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT) == 0);
    SAY(epoll_wait(epoll, told, 4, 0) == 1 && epoll_wait(epoll, told, 4, 0) == 0);
    SAY(ctl(EPOLL_CTL_MOD, ends[0], EPOLLIN) == 0 && ctl(EPOLL_CTL_ADD, counter, EPOLLIN | EPOLLOUT) == 0);
    SAY(epoll_wait(epoll, told, 1, 0) == 1 && told[0].data.fd == ends[0]);
    SAY(epoll_wait(epoll, told, 1, 0) == 1 && told[0].data.fd == counter && told[0].events == (EPOLLIN | EPOLLOUT));
    close(counter);
    close(ends[1]);
    SAY(epoll_wait(epoll, told, 4, 0) == 1 && told[0].events == (EPOLLIN | EPOLLHUP));
    close(ends[0]);
    struct timespec wait = {0, 20000000};
    start = now();
    SAY(epoll_pwait2(epoll, told, 4, &wait, 0) == 0 && now() - start >= 20000000);
    return 0;
}
