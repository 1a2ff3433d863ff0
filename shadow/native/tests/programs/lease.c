/* A program whose shadows have a file open when it takes a lease on it: 0 if it gets the lease and keeps it.
 *
 * lease FILE TURNS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t asked_back;
static void on_lease(int signal) { (void)signal, asked_back++; }

__attribute__((noinline)) static uint64_t burn(uint64_t x, long turns) {
  for (long i = 0; i < turns; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

int main(int argc, char **argv) {
  uint64_t x = 88172645463325252u;
  char buffer[16];
  int reads, writes;
  if (argc < 3) return 2;
  signal(SIGIO, on_lease);
  reads = open(argv[1], O_RDWR | O_CREAT, 0600);
  for (int i = 0; i < 100; i++) {
    x = burn(x, atol(argv[2]));
    if (pread(reads, buffer, sizeof buffer, 0) < 0) return 3;
  }
  close(reads);
  writes = open(argv[1], O_RDWR);
  if (fcntl(writes, F_SETLEASE, F_WRLCK) != 0) return 4;
  for (int i = 0; i < 100; i++) {
    x = burn(x, atol(argv[2]));
    if (pread(writes, buffer, sizeof buffer, 0) < 0) return 5;
  }
  return asked_back ? 6 : x == 0;
}
