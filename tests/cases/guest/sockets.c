/* Sockets inside one process: streams, datagrams and packets over Unix names, TCP and UDP; refusals, ends, waits and
   epoll. Right (native, qemu): sockets.txt. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/uio.h>
#include <unistd.h>

static char big[1 << 20], back[1 << 20];

#define SAY(what, value) do { errno = 0; long v_ = (value); int e_ = errno; printf("%-28s %ld %s\n", what, v_, v_ < 0 ? strerrorname_np(e_) : ""); } while (0)

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return a;
}
static struct sockaddr_un name(const char *path) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  strcpy(a.sun_path, path);
  return a;
}
static int events(int fd) {
  struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};
  poll(&p, 1, 0);
  return p.revents;
}
static void *take_all(void *fd) {
  long got = 0, n;
  while (got < (long)sizeof back && (n = read((long)fd, back + got, 4096)) > 0) got += n;
  return (void *)got;
}
static void *late(void *fd) {
  usleep(1000);
  write((long)fd, "late", 4);
  return 0;
}
static volatile int pipes;
static void on_pipe(int s) { pipes++; }

static void tcp(void) {
  int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in a = loopback(0), b;
  socklen_t l = sizeof a;
  SAY("accept unbound", accept(s, 0, 0));
  SAY("write unconnected", write(s, "x", 1));
  SAY("read unconnected", read(s, big, 1));
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  SAY("bind", bind(s, (void *)&a, sizeof a));
  SAY("bind again", bind(s, (void *)&a, sizeof a));
  getsockname(s, (void *)&a, &l);
  SAY("port given", ntohs(a.sin_port) >= 1024);
  int other = socket(AF_INET, SOCK_STREAM, 0);
  SAY("bind to a taken port", bind(other, (void *)&a, sizeof a));
  struct sockaddr_in low = loopback(80), far = loopback(99);
  SAY("connect to nobody", connect(other, (void *)&low, sizeof low));
  far.sin_addr.s_addr = htonl(0x01020304);
  SAY("bind to a foreign address", bind(other, (void *)&far, sizeof far));
  SAY("listen", listen(s, 4));
  int c = socket(AF_INET, SOCK_STREAM, 0);
  SAY("connect", connect(c, (void *)&a, l));
  SAY("connect again", connect(c, (void *)&a, l));
  SAY("listener ready", events(s));
  l = sizeof b;
  int d = accept4(s, (void *)&b, &l, SOCK_CLOEXEC);
  SAY("accepted with cloexec", fcntl(d, F_GETFD));
  struct sockaddr_in mine;
  socklen_t ml = sizeof mine;
  getsockname(c, (void *)&mine, &ml);
  SAY("peer is the client", mine.sin_port == b.sin_port && l == sizeof b);
  SAY("events of a connection", events(c));
  setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  SAY("send", send(c, "hello world", 11, 0));
  int n = 0;
  ioctl(d, FIONREAD, &n);
  SAY("bytes to read", n);
  SAY("peek", recv(d, back, 5, MSG_PEEK));
  SAY("read", read(d, back, 100));
  printf("%.11s\n", back);
  SAY("no data", recv(d, back, 1, MSG_DONTWAIT));
  pthread_t t;
  pthread_create(&t, 0, late, (void *)(long)c);
  SAY("waits for data", read(d, back, 100));
  pthread_join(t, 0);
  memset(big, 7, sizeof big);
  pthread_create(&t, 0, take_all, (void *)(long)d);
  SAY("write a megabyte", write(c, big, sizeof big));
  void *got;
  pthread_join(t, &got);
  SAY("read a megabyte", (long)got);
  SAY("the same", !memcmp(big, back, sizeof big));
  SAY("shut the writing side", shutdown(c, SHUT_WR));
  SAY("write after it", send(c, "x", 1, MSG_NOSIGNAL));
  SAY("end of the stream", read(d, back, 1));
  SAY("events at the end", events(d));
  SAY("the other way", write(d, "ok", 2));
  SAY("still read", read(c, back, 9));
  close(d);
  SAY("closed", read(c, back, 9));
  SAY("events when closed", events(c));
  close(c);
  c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  SAY("no connection", fcntl(s, F_SETFL, O_NONBLOCK) ?: accept(s, 0, 0));
  int r = connect(c, (void *)&a, sizeof a);
  int why = errno;
  SAY("connect does not wait", r == 0 || why == EINPROGRESS);
  struct pollfd p = {c, POLLOUT, 0};
  SAY("connected later", poll(&p, 1, 1000));
  int e = -1;
  l = sizeof e;
  getsockopt(c, SOL_SOCKET, SO_ERROR, &e, &l);
  SAY("without an error", e);
  close(s);
  SAY("reset with its listener", recv(c, back, 1, 0));
  close(c);
  int v6 = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
  bind(v6, (void *)&six, sizeof six);
  listen(v6, 1);
  l = sizeof six;
  getsockname(v6, (void *)&six, &l);
  struct sockaddr_in four = loopback(ntohs(six.sin6_port));
  SAY("IPv4 to a socket of IPv6", connect(other, (void *)&four, sizeof four));
  close(v6);
  close(other);
}

static void udp(void) {
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in to = loopback(0), from;
  socklen_t l = sizeof to;
  SAY("send to nowhere", send(b, "x", 1, 0));
  bind(a, (void *)&to, l);
  getsockname(a, (void *)&to, &l);
  SAY("sendto", sendto(b, "one", 3, 0, (void *)&to, l));
  SAY("connect", connect(b, (void *)&to, l));
  SAY("send", send(b, "second", 6, 0));
  SAY("an empty one", send(b, "", 0, 0));
  l = sizeof from;
  SAY("recvfrom", recvfrom(a, back, 100, 0, (void *)&from, &l));
  SAY("from the loopback", ntohl(from.sin_addr.s_addr) == INADDR_LOOPBACK);
  SAY("cut", recv(a, back, 2, MSG_TRUNC));
  SAY("empty", recv(a, back, 9, 0));
  SAY("no more", recv(a, back, 9, MSG_DONTWAIT));
  SAY("too long", send(b, big, 70000, 0));
  struct iovec v[2] = {{"ab", 2}, {"cde", 3}};
  struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
  SAY("sendmsg", sendmsg(b, &m, 0));
  char x[2], y[9];
  struct iovec w[2] = {{x, 2}, {y, 9}};
  struct msghdr n = {.msg_iov = w, .msg_iovlen = 2, .msg_name = &from, .msg_namelen = sizeof from};
  SAY("recvmsg", recvmsg(a, &n, 0));
  SAY("in two parts", x[1] == 'b' && y[2] == 'e' && n.msg_namelen == sizeof from && !n.msg_flags);
  struct timeval tv = {0, 2000};
  setsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
  SAY("time-out", recv(a, back, 9, 0));
  close(a);
  send(b, "x", 1, 0);
  SAY("nobody was there", send(b, "x", 1, 0));
  close(b);
}

static void unix_sockets(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un a = name("sock"), b;
  struct stat st;
  SAY("no such socket", connect(c, (void *)&a, sizeof a));
  SAY("bind to a path", bind(s, (void *)&a, sizeof a));
  SAY("its file is a socket", stat("sock", &st) || S_ISSOCK(st.st_mode));
  SAY("nobody listens", connect(c, (void *)&a, sizeof a));
  SAY("path is taken", bind(c, (void *)&a, sizeof a));
  listen(s, 1);
  SAY("connect by path", connect(c, (void *)&a, sizeof a));
  int d = accept(s, 0, 0);
  socklen_t l = sizeof b;
  getpeername(c, (void *)&b, &l);
  SAY("peer's name", !strcmp(b.sun_path, "sock") && l == 7);
  l = sizeof b;
  getpeername(d, (void *)&b, &l);
  SAY("without a name", l);
  struct ucred cred = {0};
  l = sizeof cred;
  getsockopt(d, SOL_SOCKET, SO_PEERCRED, &cred, &l);
  SAY("peer is this process", cred.pid == getpid());
  write(c, "abc", 3);
  close(d);
  SAY("unread data was lost", read(c, back, 9));
  SAY("write to nobody", write(c, "x", 1));
  SAY("events when closed", events(c));
  close(c);
  unlink("sock");
  int p[2];
  socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p);
  write(p[0], "first", 5);
  write(p[0], "2", 1);
  SAY("a packet", read(p[1], back, 2));
  SAY("the next one", read(p[1], back, 9));
  close(p[0]);
  SAY("end", read(p[1], back, 9));
  close(p[1]);
  SAY("pair of TCP", socketpair(AF_INET, SOCK_STREAM, 0, p));
  SAY("unknown family", socket(77, SOCK_STREAM, 0));
  SAY("unknown protocol", socket(AF_INET, SOCK_STREAM, 17));
  SAY("not a socket", listen(1, 1));
  socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, p);
  int sent = 0;
  while (send(p[0], "x", 1, 0) == 1) sent++;
  int why = errno;
  SAY("room for some", sent > 5 && why == EAGAIN);
  close(p[1]);
  SAY("partner gone", send(p[0], "x", 1, 0));
  close(p[0]);
  struct sockaddr_un hidden = {.sun_family = AF_UNIX, .sun_path = "\0name"};
  l = sizeof(sa_family_t) + 5;
  c = socket(AF_UNIX, SOCK_DGRAM, 0), d = socket(AF_UNIX, SOCK_DGRAM, 0);
  SAY("abstract name", bind(c, (void *)&hidden, l));
  SAY("sendto it", sendto(d, "hi", 2, 0, (void *)&hidden, l));
  SAY("received", recv(c, back, 9, 0));
  close(c);
  SAY("sendto nobody", sendto(d, "hi", 2, 0, (void *)&hidden, l));
  close(d);
  close(s);
}

static void watched(void) {
  int p[2], e = epoll_create1(0);
  socketpair(AF_UNIX, SOCK_STREAM, 0, p);
  struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = p[1]};
  epoll_ctl(e, EPOLL_CTL_ADD, p[1], &ev);
  SAY("quiet", epoll_wait(e, &ev, 1, 0));
  write(p[0], "ab", 2);
  SAY("edge", epoll_wait(e, &ev, 1, 0));
  SAY("told once", epoll_wait(e, &ev, 1, 0));
  read(p[1], back, 1);
  write(p[0], "c", 1);
  SAY("next edge", epoll_wait(e, &ev, 1, 0));
  close(p[0]);
  SAY("end", epoll_wait(e, &ev, 1, 0) * 0x10000 + ev.events);
  close(p[1]);
  close(e);
}

int main(void) {
  signal(SIGPIPE, on_pipe);
  setvbuf(stdout, 0, _IOLBF, 0);
  tcp();
  SAY("signals", pipes);
  udp();
  unix_sockets();
  SAY("signals", pipes);
  watched();
  return 0;
}
