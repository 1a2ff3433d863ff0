/* What a program sees of its own descriptors, mappings and locks once it has given them up: nothing may be left of them.
 * Each round takes one of every kind, computes, gives all up and looks at once. A process that has a copy of any of them
 * shows as a difference, which is named and counted; the exit code says whether there was one.
 *
 * holds FOLDER ROUNDS TURNS */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind {
  FLOCK, OFD, MAPPED, READ_SHARED, READ_PRIVATE, LATE, WRITTEN_PRIVATE, EPOLL, PIPE, PAIR, PORT, PTY, EVENT, WATCH,
  OPENED, CLOSED, SEAL, LEASE, BROKEN, SEGMENT, KINDS
};
static const char *const names[KINDS] = {"flock",    "ofd",   "mapped lock", "mapped to read", "mapped privately", "locked late", "written privately", "epoll",
                                         "pipe",     "pair",  "port",        "pty",            "event",            "watch",       "opened",            "closed",
                                         "seal",     "lease", "broken",      "segment"};
static int differences[KINDS];
static volatile sig_atomic_t asked_back;
static void on_lease(int signal) { (void)signal, asked_back++; }

__attribute__((noinline)) static uint64_t burn(uint64_t x, long turns) {
  for (long i = 0; i < turns; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

static int must(int result, const char *what) {
  if (result < 0) perror(what), exit(3);
  return result;
}

static int ofd_lock(int fd) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &all);
}

static int listen_at(struct sockaddr_in *at) {
  socklen_t bytes = sizeof *at;
  int fd = must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  if (bind(fd, (struct sockaddr *)at, sizeof *at) < 0) {
    close(fd);
    return -1;
  }
  must(listen(fd, 4), "listen");
  must(getsockname(fd, (struct sockaddr *)at, &bytes), "getsockname");
  return fd;
}

/* Files that are mapped as the kind says: locked before shadows come, or behind. */
static const struct {
  enum kind kind;
  const char *name;
  int protection, flags;
} maps[] = {{READ_SHARED, "read-shared", PROT_READ, MAP_SHARED},
            {READ_PRIVATE, "read-private", PROT_READ, MAP_PRIVATE},
            {LATE, "late", PROT_READ, MAP_PRIVATE},
            {WRITTEN_PRIVATE, "written-private", PROT_READ | PROT_WRITE, MAP_PRIVATE}};
#define MAPS (int)(sizeof maps / sizeof *maps)

static int open_file(const char *name) { return must(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600), name); }

int main(int argc, char **argv) {
  int rounds = atoi(argv[2]), epoll = must(epoll_create1(EPOLL_CLOEXEC), "epoll"), sum = 0;
  long turns = atol(argv[3]);
  uint64_t x = 88172645463325252u, token = 1;
  char buffer[4096];
  FILE *out;
  signal(SIGIO, on_lease);
  if (argc < 4 || chdir(argv[1]) != 0) return 2;
  close(open_file("read"));
  close(open_file("written"));
  for (int round = 0; round < rounds; round++) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN}, ready[2];
    struct shmid_ds segment;
    int lock = open_file("flock"), ofd = open_file("ofd"), mapped = open_file("mapped"), written, leased, own_lease;
    int stale[2], ends[2], pair[2], port, master, slave, counter, watch = -1, sealed, shared;
    uint32_t *in_file, *in_memory, *in_segment, *seen[MAPS];
    int mapped_fd[MAPS];
    void *read_memory, *read_segment;
    differences[FLOCK] += flock(lock, LOCK_EX | LOCK_NB) != 0;
    differences[OFD] += ofd_lock(ofd) != 0;
    differences[MAPPED] += flock(mapped, LOCK_EX | LOCK_NB) != 0;
    must(ftruncate(mapped, 4096), "ftruncate");
    in_file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0);
    for (int i = 0; i < MAPS; i++) {
      mapped_fd[i] = open_file(maps[i].name);
      must(ftruncate(mapped_fd[i], 4096), "ftruncate");
      if (maps[i].kind != LATE) differences[maps[i].kind] += flock(mapped_fd[i], LOCK_EX | LOCK_NB) != 0;
      seen[i] = mmap(NULL, 4096, maps[i].protection, maps[i].flags, mapped_fd[i], 0);
      if (seen[i] == MAP_FAILED) return 3;
      /* Without its descriptor, the mapping alone keeps the lock. */
      if (maps[i].kind == READ_SHARED) close(mapped_fd[i]);
    }
    seen[MAPS - 1][0] = (uint32_t)x;
    must(pipe2(stale, O_CLOEXEC), "pipe");
    must(pipe2(ends, O_CLOEXEC | O_NONBLOCK), "pipe");
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), "socketpair");
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, stale[0], &event), "epoll_ctl");
    must((int)write(stale[1], "x", 1), "write");
    counter = must(eventfd(1, EFD_CLOEXEC), "eventfd");
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, counter, &event), "epoll_ctl");
    port = must(listen_at(&at), "a port");
    master = must(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), "a terminal");
    must(grantpt(master) | unlockpt(master), "unlockpt");
    slave = must(open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC), "its other end");
    sealed = must(memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC), "memfd");
    must(ftruncate(sealed, 4096), "ftruncate");
    in_memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, sealed, 0);
    read_memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, sealed, 0);
    shared = must(shmget(IPC_PRIVATE, 4096, 0600), "shmget");
    in_segment = shmat(shared, NULL, 0);
    read_segment = shmat(shared, NULL, SHM_RDONLY);
    if (in_file == MAP_FAILED || in_memory == MAP_FAILED || in_segment == (void *)-1) return 3;
    leased = open_file("leased");
    own_lease = open_file("own-lease");
    differences[LEASE] += fcntl(own_lease, F_SETLEASE, F_WRLCK) != 0;
    if (round % 2) { /* without: shadows may read files */
      watch = must(inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify");
      must(inotify_add_watch(watch, "written", IN_ALL_EVENTS), "a watch");
      must(inotify_add_watch(watch, "read", IN_ALL_EVENTS), "a watch");
      must(inotify_add_watch(watch, "late", IN_CLOSE), "a watch");
    }
    written = must(open("written", O_WRONLY | O_CLOEXEC), "written");

    x = burn(x, turns / 2);
    in_file[0] = in_memory[0] = in_segment[0] = (uint32_t)x;
    sum += (int)must((int)pread(own_lease, buffer, 10, 0), "pread");
    if (watch >= 0) {
      int file = must(open("read", O_RDONLY | O_CLOEXEC), "read");
      x = burn(x, turns / 4);
      sum += must((int)read(file, buffer, 10), "read");
      close(file);
    }
    x = burn(x, turns / 4);

    close(lock);
    lock = open_file("flock");
    differences[FLOCK] += flock(lock, LOCK_EX | LOCK_NB) != 0;
    close(ofd);
    ofd = open_file("ofd");
    differences[OFD] += ofd_lock(ofd) != 0;
    for (int i = 0; i < MAPS; i++) {
      if (maps[i].kind == LATE) differences[LATE] += flock(mapped_fd[i], LOCK_EX | LOCK_NB) != 0;
      sum += (int)seen[i][0];
      munmap(seen[i], 4096);
      if (maps[i].kind != READ_SHARED) close(mapped_fd[i]);
      mapped_fd[i] = must(open(maps[i].name, O_RDWR | O_CLOEXEC), maps[i].name);
      differences[maps[i].kind] += flock(mapped_fd[i], LOCK_EX | LOCK_NB) != 0;
    }
    close(mapped);
    munmap(in_file, 4096);
    mapped = open_file("mapped");
    differences[MAPPED] += flock(mapped, LOCK_EX | LOCK_NB) != 0;
    close(stale[0]);
    differences[EPOLL] += epoll_wait(epoll, ready, 2, 0) != 1; /* the counter */
    close(counter);
    differences[EVENT] += epoll_wait(epoll, ready, 2, 0) != 0;
    close(ends[1]);
    differences[PIPE] += read(ends[0], buffer, 1) != 0;
    close(pair[1]);
    differences[PAIR] += read(pair[0], buffer, 1) != 0;
    close(port);
    port = listen_at(&at);
    differences[PORT] += port < 0;
    close(slave);
    differences[PTY] += read(master, buffer, 1) != -1 || errno != EIO;
    munmap(in_memory, 4096);
    munmap(read_memory, 4096);
    differences[SEAL] += fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE) != 0;
    shmdt(in_segment);
    shmdt(read_segment);
    shmctl(shared, IPC_STAT, &segment);
    differences[SEGMENT] += segment.shm_nattch != 0;
    shmctl(shared, IPC_RMID, NULL);
    close(leased);
    leased = open_file("leased");
    differences[LEASE] += fcntl(leased, F_SETLEASE, F_WRLCK) != 0;
    differences[BROKEN] += asked_back != 0 || fcntl(own_lease, F_GETLEASE) != F_WRLCK;
    fcntl(own_lease, F_SETLEASE, F_UNLCK);
    close(written);
    if (watch >= 0) {
      uint32_t masks = 0, opened = 0, closed = 0;
      ssize_t got = read(watch, buffer, sizeof buffer);
      for (ssize_t i = 0; i < got; i += (ssize_t)sizeof(struct inotify_event)) {
        struct inotify_event *seen = (struct inotify_event *)(buffer + i);
        masks |= seen->mask;
        opened += (seen->mask & IN_OPEN) != 0;
        closed += (seen->mask & IN_CLOSE) != 0;
        i += seen->len;
      }
      differences[WATCH] += !(masks & IN_CLOSE_WRITE);
      differences[OPENED] += opened != 2;
      differences[CLOSED] += closed != 3; /* "read", "written", and the first description of "late" */
      close(watch);
    }
    int all[] = {lock, ofd, mapped, stale[1], ends[0], pair[0], port, master, sealed, leased, own_lease};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
      if (all[i] >= 0) close(all[i]);
    for (int i = 0; i < MAPS; i++) close(mapped_fd[i]);
    token = token * 31 + (uint64_t)sum;
  }
  out = fopen("said", "w");
  if (!out) return 3;
  fprintf(out, "%llx %llx\n", (unsigned long long)x, (unsigned long long)token);
  sum = 0;
  for (int kind = 0; kind < KINDS; kind++)
    if (differences[kind]) sum++, fprintf(out, "%s: %d of %d rounds\n", names[kind], differences[kind], rounds);
  return sum != 0;
}
