/* Selections, bytes, sums and maxima, which current compilers turn into Zicond, Zcb, Zfa and Zbb.
   Prints: sel 4950 bytes 2454 half 1.5 sum 58 max 99 */
#include <stdio.h>

static unsigned char t[256];
static float in[] = {1, 2, 3, 10, 42};
static volatile float hf = 0.5f;

__attribute__((noinline)) static long sel(const long *p, int n, long k) {
    long s = 0;
    for (int i = 0; i < n; i++)
        s += p[i] > k ? 0 : p[i];
    return s;
}

__attribute__((noinline)) static unsigned bytes(const unsigned char *p, int n) {
    unsigned s = 0;
    while (n--)
        s += *p++;
    return s;
}

__attribute__((noinline)) static float sum(const float *p, int n) {
    float s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}

__attribute__((noinline)) static long mx(const long *p, int n) {
    long m = 0;
    for (int i = 0; i < n; i++)
        m = p[i] > m ? p[i] : m;
    return m;
}

int main(void) {
    static long a[100];
    for (int i = 0; i < 100; i++)
        a[i] = i;
    for (int i = 0; i < 100; i++)
        t[i] = i % 52;
    printf("sel %ld bytes %u half %g sum %g max %ld\n", sel(a, 100, 99), bytes(t, 100), hf + 1.0f,
           sum(in, 5), mx(a, 100));
    return 0;
}
