/* A program with code for the vector extension, which it calls only where riscv_hwprobe finds the extension, as libraries
   do that choose their code at run time. Linux without the extension prints "scalar 285". */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The sum of the squares of `count` numbers, by instructions that may be missing (squares_by_vector.S). */
long squares_by_vector(const int *numbers, long count);

static long squares(const int *numbers, long count) {
    long sum = 0;
    for (long i = 0; i < count; i++) sum += numbers[i] * numbers[i];
    return sum;
}

int main(void) {
    int numbers[10];
    for (int i = 0; i < 10; i++) numbers[i] = i;
    struct { long key; unsigned long value; } pair = {4, 0};
    long result = syscall(258, &pair, 1, 0, 0, 0);
    int has_vector = result == 0 && (pair.value & 4);
    printf("%s %ld\n", has_vector ? "vector" : "scalar",
           has_vector ? squares_by_vector(numbers, 10) : squares(numbers, 10));
    return 0;
}
