/* Random code is written behind a fence of code, and run there: instructions fetched before the fence are
   stale, and on RISC-V their lengths change. An interpreter computes what the code must return.
   Right: "600 rounds agree". */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef uint64_t (*function)(uint64_t, uint64_t);
enum { ADD, SMALL_ADD, XOR, SUM, SHIFT, SMALL_SHIFT, SKIP, SMALL_SKIP, SKIP_IF, FENCE, OPERATIONS };

static uint64_t state = 27;
static unsigned below(unsigned n) {
  state += 0x9e3779b97f4a7c15ull;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (z >> 33) % n;
}

#ifdef __riscv
static int length(int op) { return op == SMALL_ADD || op == SUM || op == SMALL_SHIFT || op == SMALL_SKIP ? 2 : 4; }
static uint32_t encode(int op, int k, int next) {
  switch (op) {
    case ADD: return 0x00050513 | k << 20;                   /* addi a0, a0, k */
    case SMALL_ADD: return 0x0501 | k << 2;                  /* c.addi a0, k */
    case XOR: return 0x00b54533;                             /* xor a0, a0, a1 */
    case SUM: return 0x952e;                                 /* c.add a0, a1 */
    case SHIFT: return 0x00151513;                           /* slli a0, a0, 1 */
    case SMALL_SHIFT: return 0x0506;                         /* c.slli a0, 1 */
    case SKIP: return next == 2 ? 0x00000363 : 0x00000463;   /* beq zero, zero, over the next one */
    case SMALL_SKIP: return next == 2 ? 0xa011 : 0xa019;     /* c.j over the next one */
    case SKIP_IF: return next == 2 ? 0x00051363 : 0x00051463; /* bnez a0, over the next one */
    default: return 0x0000100f;                              /* fence.i */
  }
}
static const uint32_t end[] = {0x00008067}; /* ret */
#else
static int length(int op) { (void)op; return 4; }
static uint32_t encode(int op, int k, int next) {
  (void)next;
  switch (op) {
    case ADD: case SMALL_ADD: return 0x42001410 | k << 13;    /* addq $16, k, $16 */
    case XOR: return 0x46110810;                              /* xor $16, $17, $16 */
    case SUM: return 0x42110410;                              /* addq $16, $17, $16 */
    case SHIFT: case SMALL_SHIFT: return 0x4a003730;          /* sll $16, 1, $16 */
    case SKIP: case SMALL_SKIP: return 0xc3e00001;            /* br over the next one */
    case SKIP_IF: return 0xf6000001;                          /* bne $16, over the next one */
    default: return 0x00000086;                               /* imb */
  }
}
static const uint32_t end[] = {0x46100400, 0x6bfa8001}; /* mov $16, $0; ret */
#endif

static uint64_t interpret(const int *op, const int *k, int n, uint64_t a, uint64_t b) {
  for (int i = 0; i < n; i++) switch (op[i]) {
    case ADD: case SMALL_ADD: a += k[i]; break;
    case XOR: a ^= b; break;
    case SUM: a += b; break;
    case SHIFT: case SMALL_SHIFT: a <<= 1; break;
    case SKIP: case SMALL_SKIP: i++; break;
    case SKIP_IF: i += a != 0; break;
  }
  return a;
}

int main(void) {
  unsigned char *page = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < 600; round++) {
    int op[24], k[24], n = 1 + below(23);
    op[0] = FENCE;
    k[0] = 0;
    for (int i = 1; i < n; i++) {
      op[i] = below(OPERATIONS);
      k[i] = 1 + below(31);
      if (op[i] == FENCE && below(4)) op[i] = SMALL_ADD;
    }
    if (round % 50 == 7) mprotect(page, 4096, PROT_READ | PROT_WRITE);
    unsigned char *at = page;
    for (int i = 0; i < n; i++) {
      uint32_t word = encode(op[i], k[i], i + 1 < n ? length(op[i + 1]) : 4);
      memcpy(at, &word, length(op[i]));
      at += length(op[i]);
    }
    /* The last one may skip the first instruction of the end. */
    uint32_t nothing = encode(ADD, 0, 4);
    memcpy(at, &nothing, 4);
    memcpy(at + 4, end, sizeof end);
    if (round % 50 == 7) mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    uint64_t a = below(3) ? below(1000) : 0, b = below(1000);
    uint64_t got = ((function)page)(a, b), right = interpret(op, k, n, a, b);
    if (got != right) {
      printf("round %d: %llx, right is %llx\n", round, (unsigned long long)got, (unsigned long long)right);
      return 1;
    }
  }
  puts("600 rounds agree");
  return 0;
}
