/* Calls to break at, a value to change, and an exit code that tells of the change. */
#include <stdio.h>

int scale = 0;

__attribute__((noinline)) static int twice(int value)
{
    return 2 * value;
}

__attribute__((noinline)) static int last(int sum)
{
    return 2 * sum;
}

int main(void)
{
    int sum = 0;
    for (int i = 1; i <= 4; i++) {
        int doubled = twice(i);
        printf("%d ", doubled);
        sum += doubled;
    }
    printf("%d\n", sum);
    fflush(stdout);
    sum = last(sum);
    return sum == 40 ? scale : 1;
}
