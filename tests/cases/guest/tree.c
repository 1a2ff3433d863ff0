// Source: namhyung/uftrace#1058: each path of a recursion is a calling context.
// Right: 2^(DEPTH + 1) - 1 calls of a and b together, and as many contexts.
// riscv64-linux-gnu-gcc -O1 -g -static -fno-optimize-sibling-calls tree.c ; argument = DEPTH
#include <stdio.h>
#include <stdlib.h>
volatile unsigned sink;
__attribute__((noinline)) static void b(unsigned n);
__attribute__((noinline)) static void a(unsigned n){ sink+=n; if(n){ a(n-1); b(n-1);} sink++; }
__attribute__((noinline)) static void b(unsigned n){ sink+=n; if(n){ b(n-1); a(n-1);} sink--; }
int main(int c,char**v){ a(c>1?(unsigned)atoi(v[1]):14); printf("%u\n",sink); }
