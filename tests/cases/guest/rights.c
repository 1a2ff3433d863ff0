/* Descriptors sent over Unix sockets: what is shared, where a stream is cut, what there is no room for, what is closed when
   nobody can receive it, refusals. Right (native, as a user): rights.txt. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAY(what, value) do { errno = 0; long v_ = (value); int e_ = errno; printf("%-28s %ld %s\n", what, v_, v_ < 0 ? strerrorname_np(e_) : ""); } while (0)

static char back[4096];
static char room[8192] __attribute__((aligned(16)));

/* Sends n descriptors with some bytes. */
static long give(int s, const void *bytes, size_t len, const int *fds, int n) {
  struct iovec v = {(void *)bytes, len};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_SPACE(n * sizeof *fds)};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(n * sizeof *fds);
  memcpy(CMSG_DATA(c), fds, n * sizeof *fds);
  return sendmsg(s, &m, 0);
}
static struct msghdr got;
/* Receives up to len bytes with so much room for control messages. */
static long take(int s, size_t len, size_t control, int flags, int *fds) {
  struct iovec v = {back, len};
  got = (struct msghdr){.msg_iov = &v, .msg_iovlen = 1, .msg_control = control ? room : 0, .msg_controllen = control};
  memset(room, 0, sizeof room);
  long n = recvmsg(s, &got, flags);
  if (n >= 0 && fds && got.msg_controllen >= CMSG_LEN(4)) {
    struct cmsghdr *c = (void *)room;
    memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
  }
  return n;
}
static void tell(const char *what) {
  struct cmsghdr *c = (void *)room;
  printf("%-28s flags %x control %ld len %ld level %d type %d\n", what, got.msg_flags, (long)got.msg_controllen, (long)c->cmsg_len, c->cmsg_level == SOL_SOCKET, c->cmsg_type);
}

int main(void) {
  int s[2], p[2], q[2], in[300], f;
  setvbuf(stdout, 0, _IOLBF, 0);
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  /* The open file is shared: its position, and it is open while it is under way. */
  f = memfd_create("m", 0);
  write(f, "0123456789", 10);
  lseek(f, 4, SEEK_SET);
  SAY("give a file", give(s[0], "x", 1, &f, 1));
  close(f);
  SAY("take it", take(s[1], 9, CMSG_SPACE(4), 0, in));
  tell("");
  SAY("the lowest number", in[0]);
  SAY("position", lseek(in[0], 0, SEEK_CUR));
  SAY("not closed at exec", fcntl(in[0], F_GETFD));
  SAY("give it again", give(s[0], "x", 1, in, 1));
  SAY("take it", take(s[1], 9, CMSG_SPACE(4), MSG_CMSG_CLOEXEC, in + 1));
  tell("");
  SAY("closed at exec", fcntl(in[1], F_GETFD));
  lseek(in[1], 7, SEEK_SET);
  SAY("position of the other", lseek(in[0], 0, SEEK_CUR));
  close(in[1]);
  f = in[0];
  /* A stream is cut behind a piece with descriptors, not in front of it. */
  write(s[0], "ab", 2);
  give(s[0], "cd", 2, &f, 1);
  write(s[0], "ef", 2);
  SAY("up to descriptors", take(s[1], 99, CMSG_SPACE(4), 0, in));
  tell("");
  SAY("behind them", take(s[1], 99, CMSG_SPACE(4), 0, 0));
  tell("");
  close(in[0]);
  give(s[0], "abcd", 4, &f, 1);
  SAY("a part", take(s[1], 1, CMSG_SPACE(4), 0, in));
  tell("");
  write(s[0], "e", 1);
  SAY("the rest", take(s[1], 99, CMSG_SPACE(4), 0, 0));
  tell("");
  close(in[0]);
  /* Read without control messages: closed. */
  pipe(p);
  give(s[0], "z", 1, p + 1, 1);
  close(p[1]);
  fcntl(p[0], F_SETFL, O_NONBLOCK);
  SAY("under way is open", read(p[0], back, 1));
  SAY("read drops it", read(s[1], back, 9));
  SAY("now closed", read(p[0], back, 1));
  close(p[0]);
  /* Too little room. */
  int three[3] = {f, f, f};
  give(s[0], "z", 1, three, 3);
  SAY("room for one", take(s[1], 9, CMSG_LEN(4), 0, in));
  tell("");
  close(in[0]);
  give(s[0], "z", 1, three, 3);
  SAY("room for two", take(s[1], 9, CMSG_SPACE(4), 0, in));
  tell("");
  close(in[0]), close(in[1]);
  give(s[0], "z", 1, three, 3);
  SAY("no room", take(s[1], 9, 0, 0, 0));
  tell("");
  give(s[0], "z", 1, three, 3);
  SAY("room for a header", take(s[1], 9, CMSG_LEN(0), 0, 0));
  tell("");
  /* Looked at, they are there twice. */
  give(s[0], "z", 1, &f, 1);
  SAY("peek", take(s[1], 9, CMSG_SPACE(4), MSG_PEEK, in));
  tell("");
  SAY("take", take(s[1], 9, CMSG_SPACE(4), 0, in + 1));
  SAY("two descriptors", in[1] - in[0]);
  close(in[0]), close(in[1]);
  /* Refusals. */
  int bad = 99;
  SAY("bad descriptor", give(s[0], "z", 1, &bad, 1));
  bad = -1;
  SAY("negative descriptor", give(s[0], "z", 1, &bad, 1));
  for (int i = 0; i < 300; i++) in[i] = f;
  SAY("too many", give(s[0], "z", 1, in, 254));
  SAY("the most", give(s[0], "z", 1, in, 253));
  SAY("taken", take(s[1], 9, 0, 0, 0));
  struct iovec v = {"z", 1};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_SPACE(4)};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = 8;
  SAY("short control message", sendmsg(s[0], &m, 0));
  c->cmsg_len = 99;
  SAY("long control message", sendmsg(s[0], &m, 0));
  c->cmsg_len = CMSG_LEN(4), c->cmsg_type = 77;
  SAY("unknown type", sendmsg(s[0], &m, 0));
  m.msg_controllen = 1 << 20;
  SAY("far too much control", sendmsg(s[0], &m, 0));
  SAY("nothing with it", give(s[0], "", 0, &f, 1));
  SAY("nothing came", recv(s[1], back, 9, MSG_DONTWAIT));
  /* Closed with the socket that nobody reads any more. */
  pipe(p);
  give(s[0], "z", 1, p + 1, 1);
  close(p[1]);
  fcntl(p[0], F_SETFL, O_NONBLOCK);
  SAY("open", read(p[0], back, 1));
  close(s[1]);
  SAY("closed with the socket", read(p[0], back, 1));
  SAY("to nobody", send(s[0], "z", 1, MSG_NOSIGNAL));
  close(s[0]), close(p[0]);
  /* A socket in a socket: both are closed. */
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  socketpair(AF_UNIX, SOCK_STREAM, 0, q);
  pipe(p);
  give(q[0], "z", 1, p + 1, 1);
  give(s[0], "z", 1, q + 1, 1);
  close(p[1]), close(q[1]), close(q[0]);
  fcntl(p[0], F_SETFL, O_NONBLOCK);
  SAY("inside of two", read(p[0], back, 1));
  close(s[1]);
  SAY("closed with both", read(p[0], back, 1));
  close(s[0]), close(p[0]);
  /* Messages, packets, and a child. */
  for (int kind = SOCK_DGRAM; ; kind = SOCK_SEQPACKET) {
    socketpair(AF_UNIX, kind, 0, s);
    SAY("give with a message", give(s[0], "abc", 3, &f, 1));
    SAY("give with nothing", give(s[0], "", 0, &f, 1));
    SAY("cut message", take(s[1], 2, CMSG_SPACE(4), 0, in));
    tell("");
    SAY("empty message", take(s[1], 2, CMSG_SPACE(4), 0, in + 1));
    tell("");
    SAY("same file", lseek(in[1], 0, SEEK_CUR));
    close(in[0]), close(in[1]), close(s[0]), close(s[1]);
    if (kind == SOCK_SEQPACKET) break;
  }
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  if (!fork()) {
    pipe(p);
    write(p[1], "from the child", 14);
    give(s[0], "z", 1, p, 1);
    _exit(0);
  }
  SAY("from a child", take(s[1], 9, CMSG_SPACE(4), 0, in));
  SAY("its pipe", read(in[0], back, 99));
  wait(0);
  SAY("and its end", read(in[0], back, 99));
  close(in[0]);
  /* Limits on descriptors. */
  struct rlimit few = {f + 2, f + 2};
  setrlimit(RLIMIT_NOFILE, &few);
  give(s[0], "z", 1, three, 3);
  SAY("one number is free", take(s[1], 9, CMSG_SPACE(12), 0, in));
  tell("");
  close(in[0]);
  int sent = 0;
  while (give(s[0], "z", 1, three, 1) == 1) sent++;
  int why = errno;
  SAY("then too many under way", why == ETOOMANYREFS ? sent - (int)few.rlim_cur : -why);
  return 0;
}
