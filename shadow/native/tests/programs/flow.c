/* Each way of moving control, with results that depend on it: natively and as copies, they must be equal. Calls and turns
 * of loops are counted by the program too. The results go into the file that it is given. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t calls_made, turns_back;

static uint64_t seed = 88172645463325252u;
static uint64_t random_word(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

/* All conditions after a comparison: bit N of the result is condition N. */
#define CONDITION(n, jump)                                                                              \
  "cmp %2, %1\n " jump " 1f\n jmp 2f\n 1: or $1 << " #n ", %0\n 2:\n"
__attribute__((noinline)) static uint32_t conditions(uint64_t a, uint64_t b) {
  uint32_t met = 0;
  __asm__ volatile(CONDITION(0, "jo") CONDITION(1, "jno") CONDITION(2, "jb") CONDITION(3, "jae")
                       CONDITION(4, "je") CONDITION(5, "jne") CONDITION(6, "jbe") CONDITION(7, "ja")
                           CONDITION(8, "js") CONDITION(9, "jns") CONDITION(10, "jp") CONDITION(11, "jnp")
                               CONDITION(12, "jl") CONDITION(13, "jge") CONDITION(14, "jle")
                                   CONDITION(15, "jg")
                   : "+r"(met)
                   : "r"(a), "r"(b)
                   : "cc");
  return met;
}

/* Conditions far away: with displacements of four bytes. */
__attribute__((noinline)) static uint32_t far_condition(uint64_t a) {
  uint32_t out = 1;
  __asm__ volatile("test %1, %1\n jz 1f\n add $2, %0\n jmp 2f\n .skip 300, 0x90\n 1: add $4, %0\n 2:\n"
                   : "+r"(out)
                   : "r"(a)
                   : "cc");
  return out;
}

/* loop, loope, loopne, jrcxz, jecxz. */
__attribute__((noinline)) static uint64_t loops(uint64_t n) {
  uint64_t sum = 0, count = n;
  turns_back += 3 * (n - 1);
  __asm__ volatile("1: add %1, %0\n loop 1b\n" : "+r"(sum), "+c"(count) : : "cc");
  count = n;
  __asm__ volatile("1: inc %0\n cmp %0, %0\n loope 1b\n" : "+r"(sum), "+c"(count) : : "cc");
  count = n;
  __asm__ volatile("1: inc %0\n test %0, %0\n loopne 1b\n" : "+r"(sum), "+c"(count) : : "cc");
  count = n & 1;
  __asm__ volatile("jrcxz 1f\n add $1000, %0\n 1:\n jecxz 2f\n add $5000, %0\n 2:\n"
                   : "+r"(sum), "+c"(count)
                   :
                   : "cc");
  return sum;
}

__attribute__((noinline)) uint64_t leaf(uint64_t x) {
  calls_made++;
  __asm__ volatile("" : "+r"(x));
  return x * 3 + 1;
}
__attribute__((noinline)) uint64_t other(uint64_t x) {
  __asm__ volatile("" : "+r"(x));
  return x ^ 0x55;
}
__attribute__((noinline)) uint64_t caller(uint64_t x) { return leaf(x) + 1; }

typedef uint64_t function(uint64_t);
static function *volatile table[2] = {leaf, other};

/* Calls through registers, memory, the stack pointer, the next instruction, and a return that pops arguments. */
uint64_t pops(void);
__asm__(".text\n .type pops, @function\n pops:\n mov 8(%rsp), %rax\n add 16(%rsp), %rax\n ret $16\n .size pops, . - pops\n");
__attribute__((noinline)) static uint64_t indirect(uint64_t x) {
  uint64_t sum = 0, out;
  for (int i = 0; i < 2; i++) sum += table[i](x);
  __asm__ volatile("push $7\n push %1\n call pops\n mov %%rax, %0" : "=r"(out) : "r"(x) : "rax", "cc", "memory");
  sum += out;
  __asm__ volatile("lea pops(%%rip), %%rax\n push $9\n push %1\n push %%rax\n call *(%%rsp)\n"
                   "mov %%rax, %0\n add $8, %%rsp"
                   : "=r"(out)
                   : "r"(x)
                   : "rax", "cc", "memory");
  /* The address lies where the first argument would be: 8(%rsp) is the address, 16(%rsp) is x. */
  sum += out - (uint64_t)(uintptr_t)pops;
  return sum;
}

/* A jump through a table. */
__attribute__((noinline)) static uint64_t choose(unsigned which, uint64_t x) {
  static void *const ways[] = {&&a, &&b, &&c, &&d};
  goto *ways[which & 3];
a: return x + 1;
b: return x * 2;
c: return x ^ 3;
d: return ~x;
}

static jmp_buf back;
__attribute__((noinline)) static void deep(int n) {
  if (n <= 0) longjmp(back, 5);
  deep(n - 1);
}

/* The bytes below the stack pointer are a leaf's to use. */
__attribute__((noinline)) static uint64_t red_zone(uint64_t x) {
  uint64_t out;
  __asm__ volatile("mov %1, -8(%%rsp)\n mov $3, %%ecx\n 1: addq $1, -8(%%rsp)\n dec %%ecx\n jnz 1b\n"
                   "mov -8(%%rsp), %0"
                   : "=r"(out)
                   : "r"(x)
                   : "rcx", "cc", "memory");
  return out;
}

/* Flags that live across a jump, a call and a return. */
uint64_t keeps_flags(uint64_t);
__asm__(".text\n keeps_flags:\n xor %eax, %eax\n cmp $5, %rdi\n jmp 1f\n nop\n 1: call 2f\n setb %al\n ret\n 2: ret\n");

int main(int argc, char **argv) {
  uint64_t sum = 0;
  double real = 1.0;
  int turns = argc > 2 ? atoi(argv[2]) : 3000;
  FILE *out = argc > 1 ? fopen(argv[1], "w") : stdout;
  if (!out) return 1;
  for (int i = 0; i < turns; i++) {
    uint64_t a = random_word(), b = i % 3 ? random_word() : a;
    if (i % 5 == 0) a &= 0xff, b &= 0xff;
    sum = sum * 31 + conditions(a, b) + far_condition(a & 1) + loops(1 + (a & 7)) + caller(a) + indirect(b) +
          choose((unsigned)b, a) + red_zone(a) + keeps_flags(a & 7);
    real = real * 1.0000001 + (double)(a & 15);
  }
  if (setjmp(back) == 0) deep(20);
  fprintf(out, "%llx %.6f\n%llu %llu\n", (unsigned long long)sum, real, (unsigned long long)calls_made,
          (unsigned long long)turns_back);
  return (int)(sum & 63);
}
