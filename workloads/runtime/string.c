/* Memory and string functions.  Built with -fno-tree-loop-distribute-patterns, so that the compiler
 * does not turn their loops into calls of themselves. */
#include "rt.h"

/* Word access that may alias anything. */
typedef uint64_t __attribute__((may_alias)) word;

static int both_aligned(const void *a, const void *b)
{
    return (((uintptr_t)a | (uintptr_t)b) & (sizeof(word) - 1)) == 0;
}

void *memcpy(void *dst, const void *src, size_t n)
{
    unsigned char *d = dst;
    const unsigned char *s = src;
    if (both_aligned(d, s)) {
        for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word), s += sizeof(word))
            *(word *)d = *(const word *)s;
    }
    while (n-- > 0)
        *d++ = *s++;
    return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
    unsigned char *d = dst;
    const unsigned char *s = src;
    if ((uintptr_t)d - (uintptr_t)s >= n)
        return memcpy(dst, src, n);
    while (n-- > 0)
        d[n] = s[n];
    return dst;
}

void *memset(void *dst, int byte, size_t n)
{
    unsigned char *d = dst;
    word pattern = (unsigned char)byte * UINT64_C(0x0101010101010101);
    for (; n > 0 && ((uintptr_t)d & (sizeof(word) - 1)) != 0; n--)
        *d++ = (unsigned char)byte;
    for (; n >= sizeof(word); n -= sizeof(word), d += sizeof(word))
        *(word *)d = pattern;
    while (n-- > 0)
        *d++ = (unsigned char)byte;
    return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (; n > 0; n--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}

size_t strlen(const char *s)
{
    const char *p = s;
    while (*p)
        p++;
    return (size_t)(p - s);
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++) {
        unsigned char x = (unsigned char)*a, y = (unsigned char)*b;
        if (x != y)
            return x < y ? -1 : 1;
        if (x == 0)
            break;
    }
    return 0;
}

char *strcpy(char *dst, const char *src)
{
    memcpy(dst, src, strlen(src) + 1);
    return dst;
}

static void swap_bytes(unsigned char *a, unsigned char *b, size_t size)
{
    for (; size > 0; size--, a++, b++) {
        unsigned char t = *a;
        *a = *b;
        *b = t;
    }
}

/* Heap sort, so that no input is slow; the last argument orders as in ISO C's qsort. */
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    unsigned char *at = base;
    size_t root = n / 2, end = n;
    while (end > 1) {
        if (root > 0) {
            root--;
        } else {
            end--;
            swap_bytes(at, at + end * size, size);
        }
        for (size_t parent = root;;) {
            size_t child = 2 * parent + 1;
            if (child >= end)
                break;
            if (child + 1 < end && compare(at + child * size, at + (child + 1) * size) < 0)
                child++;
            if (compare(at + parent * size, at + child * size) >= 0)
                break;
            swap_bytes(at + parent * size, at + child * size, size);
            parent = child;
        }
    }
}
