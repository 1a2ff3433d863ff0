/* Writes memory in turn: MIBIBYTES, turns, and 1 for huge pages, 2 for other lines of it at random as well. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE (UINT64_C(2) << 20)

int main(int argc, char **argv) {
  uint64_t bytes = strtoul(argv[1], 0, 10) << 20, turns = strtoul(argv[2], 0, 10), x = 1, sum = 0;
  int kind = argc > 3 ? atoi(argv[3]) : 0;
  uint8_t *all = mmap(0, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  all = (uint8_t *)(((uintptr_t)all + HUGE - 1) & ~(HUGE - 1));
  madvise(all, bytes, kind ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  for (uint64_t turn = 0; turn < turns; turn++)
    for (uint64_t i = 0; i < bytes; i += 64) {
      uint64_t at = i;
      if (kind == 2) x = x * UINT64_C(6364136223846793005) + 1, at = (x >> 20) % bytes;
      all[at] += (uint8_t)turn;
    }
  for (uint64_t i = 0; i < bytes; i += 4096) sum = sum * 31 + all[i];
  printf("%lu\n", sum);
  return 0;
}
