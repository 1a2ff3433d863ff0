/* Functions that only jumps enter: forward ones, ones through a pointer, and on Alpha ones behind the two instructions that
   load the global pointer. A jump table jumps as well, and enters nothing. cc -O2 -fno-toplevel-reorder -static
   Right: first 300, forward 300, through 200, by_pointer 200, table 100. */
#include <stdio.h>
#define N __attribute__((noinline, noclone))
static volatile int k;
N int forward(int x);
N int by_pointer(int x);
static int (*volatile p)(int) = by_pointer;
N int first(int x) { k++; return forward(x + 1); }
N int through(int x) { k++; return p(x); }
N int table(int x)
{
    switch (x) {
    case 0: k += 5; return k;
    case 1: k ^= 9; break;
    case 2: k -= 3; return 7;
    case 3: k *= 3; break;
    case 4: k |= 1; return k + 1;
    case 5: k &= 77; break;
    case 6: k += x; return k * 2;
    case 7: k -= x; break;
    }
    return k - 1;
}
N int forward(int x) { k += x; return k; }
N int by_pointer(int x) { k ^= x; return k; }
int main(void)
{
    for (int i = 0; i < 300; i++) first(i);
    for (int i = 0; i < 200; i++) through(i);
    for (int i = 0; i < 100; i++) table(i & 7);
    printf("%d\n", k);
    return 0;
}
