/* What a program can make the host keep beside its memory, in MiB until it is refused: with --memory-limit 32 that is about as much, and never more. The
   program itself has about 10 MiB of it, its stack among them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[1 << 20];
enum { MOST = 400 };

/* Files in memory, of 4 MiB each. */
static int memfds(void) {
  int n = 0;
  while (n < MOST) {
    int f = memfd_create("m", 0);
    for (int i = 0; i < 4; i++, n++)
      if (f < 0 || write(f, block, sizeof block) != sizeof block)
        return n;
  }
  return n;
}
/* Files in memory that are mapped, filled and unmapped. */
static int mapped(void) {
  for (int n = 0; n < MOST; n++) {
    int f = memfd_create("m", 0);
    ftruncate(f, sizeof block);
    char *p = mmap(0, sizeof block, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    if (p == MAP_FAILED)
      return n;
    memset(p, 1, sizeof block);
    munmap(p, sizeof block);
  }
  return MOST;
}
/* Address space, in GiB, up to 8; the exit code is one more. */
static int reserve(void) {
  int n = 0;
  while (n < 8 && mmap(0, 1l << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    n++;
  exit(n + 1);
}
static int pipes(void) {
  for (int n = 0; n < MOST; n++) {
    int p[2];
    if (pipe2(p, O_NONBLOCK) < 0 || fcntl(p[1], F_SETPIPE_SZ, sizeof block) < 0)
      return -1;
    if (write(p[1], block, sizeof block) != sizeof block)
      return n;
  }
  return MOST;
}
static int fifos(void) {
  for (int n = 0; n < MOST; n++) {
    char name[16];
    sprintf(name, "f%d", n);
    if (mkfifo(name, 0600) < 0)
      return -1;
    int f = open(name, O_RDWR | O_NONBLOCK);
    if (f < 0 || fcntl(f, F_SETPIPE_SZ, sizeof block) < 0)
      return -1;
    if (write(f, block, sizeof block) != sizeof block)
      return n;
  }
  return MOST;
}
/* Files of /dev/shm: each other one keeps its name, and all others stay open, and were filled where they were mapped. */
static int named(void) {
  for (int n = 0; n < MOST; n++) {
    char name[32];
    sprintf(name, "/dev/shm/n%d", n);
    int f = open(name, O_CREAT | O_RDWR | O_EXCL, 0600);
    if (f < 0)
      return -1;
    if (n % 2) {
      if (write(f, block, sizeof block) != sizeof block)
        return n;
      close(f);
      continue;
    }
    ftruncate(f, sizeof block);
    char *p = mmap(0, sizeof block, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    if (p == MAP_FAILED)
      return n;
    memset(p, 1, sizeof block);
    munmap(p, sizeof block);
    unlink(name);
  }
  return MOST;
}
static int segments(void) {
  for (int n = 0; n < MOST; n++) {
    int id = shmget(IPC_PRIVATE, sizeof block, 0600);
    if (id < 0)
      return -1;
    char *p = shmat(id, 0, 0);
    if (p == (char *)-1)
      return n;
    memset(p, 1, sizeof block);
    shmdt(p);
  }
  return MOST;
}
/* Sets of semaphores, of 8 bytes each. */
static int semaphores(void) {
  for (int n = 0; n < MOST; n++)
    if (semget(IPC_PRIVATE, 32000, 0600) < 0)
      return errno == ENOMEM ? n / 4 : -1;
  return MOST;
}
static int sockets(void) {
  long bytes = 0;
  for (int n = 0; n < MOST; n++) {
    int s[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) < 0)
      return -1;
    long sent = write(s[0], block, sizeof block);
    if (sent <= 0)
      break;
    bytes += sent;
  }
  return bytes >> 20;
}
/* Texts of /proc, long by many mappings. */
static int texts(void) {
  static char text[1 << 20];
  long bytes = 0;
  char *many = mmap(0, 1000 * 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 1; i < 1000; i += 2)
    mprotect(many + i * 8192, 8192, PROT_NONE);
  for (int n = 0; n < 1000; n++) {
    int f = open("/proc/self/maps", O_RDONLY);
    if (f < 0)
      break;
    long got, own = 0;
    while ((got = pread(f, text, sizeof text, own)) > 0)
      own += got;
    bytes += own;
  }
  return bytes >> 20;
}
/* Programs, each a copy of this one with a hole behind it, which takes nothing, and with bytes behind it that its headers name. */
static int programs(int hole) {
  int n = 0;
  for (; n < 40; n++) {
    char name[16];
    sprintf(name, "p%d", n);
    int from = open("/proc/self/exe", O_RDONLY), to = open(name, O_CREAT | O_RDWR | O_TRUNC, 0755);
    long size = 0, got;
    while ((got = read(from, block, sizeof block)) > 0)
      size += write(to, block, got);
    close(from);
    if (hole)
      ftruncate(to, 800l << 20);
    else {
      /* The first section, which has no type, becomes one of 2 MiB. */
      long at;
      pread(to, &at, 8, 40);
      unsigned type = 1;
      long bytes = 2 << 20;
      pwrite(to, &type, 4, at + 4);
      pwrite(to, &size, 8, at + 24);
      pwrite(to, &bytes, 8, at + 32);
      ftruncate(to, size + bytes);
    }
    close(to);
    if (fork() == 0) {
      char *words[] = {name, 0};
      execve(name, words, 0);
      _exit(errno == ENOMEM ? 1 : 2);
    }
    int status;
    wait(&status);
    if (status)
      return WEXITSTATUS(status) == 1 ? n : -1;
  }
  return n;
}
int main(int count, char **words) {
  if (count == 1)
    return 0;
  if (strcmp(words[1], "reserve"))
    memset(block, 1, sizeof block);
  int n = !strcmp(words[1], "reserve")    ? reserve()
          : !strcmp(words[1], "memfds")   ? memfds()
          : !strcmp(words[1], "mapped")   ? mapped()
          : !strcmp(words[1], "pipes")    ? pipes()
          : !strcmp(words[1], "fifos") ? fifos()
          : !strcmp(words[1], "named") ? named()
          : !strcmp(words[1], "segments") ? segments()
          : !strcmp(words[1], "semaphores") ? semaphores()
          : !strcmp(words[1], "sockets")  ? sockets()
          : !strcmp(words[1], "texts")    ? texts()
          : !strcmp(words[1], "programs") ? programs(0)
                                          : programs(1);
  printf("%d\n", n);
  return 0;
}
