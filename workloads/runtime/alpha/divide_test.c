/* Divides numbers of every size and sign, and ends with code 1 where quotient and remainder do not
 * make up the dividend.  Not part of any image: a test builds and runs it. */
#include "rt.h"

/* The values pass through here so that every division is left to the routines. */
static volatile uint64_t values[2];

/* Zeros, powers of two and their neighbours, and numbers of any length, of either sign. */
static uint64_t pick(struct rng *rng)
{
    uint64_t power = UINT64_C(1) << rng_below(rng, 64);
    uint64_t number = rng_next(rng) >> rng_below(rng, 64);
    switch (rng_below(rng, 4)) {
    case 0: return power + rng_below(rng, 3) - 1;
    case 1: return -power + rng_below(rng, 3) - 1;
    case 2: return -number;
    default: return number;
    }
}

#define CHECK_UNSIGNED(type, a, b)                                  \
    do {                                                            \
        type n = (type)(a), d = (type)(b), q, r;                    \
        if (d == 0)                                                 \
            break;                                                  \
        q = n / d, r = n % d;                                       \
        if ((type)(q * d + r) != n || r >= d || (q != 0 && n < d))  \
            rt_fail(#type);                                         \
    } while (0)

/* Magnitudes are unsigned, so that the smallest number has one. */
#define MAGNITUDE(unsigned_type, v) ((v) < 0 ? -(unsigned_type)(v) : (unsigned_type)(v))

#define CHECK_SIGNED(type, unsigned_type, a, b)                                        \
    do {                                                                               \
        type n = (type)(a), d = (type)(b), q, r;                                       \
        unsigned_type m = MAGNITUDE(unsigned_type, n), e = MAGNITUDE(unsigned_type, d); \
        if (d == 0 || (d == -1 && n < 0 && n == (type)m))                              \
            break;                                                                     \
        q = n / d, r = n % d;                                                          \
        if (MAGNITUDE(unsigned_type, q) != m / e || MAGNITUDE(unsigned_type, r) != m % e) \
            rt_fail(#type);                                                            \
        if ((q != 0 && (q < 0) != ((n < 0) != (d < 0))) || (r != 0 && (r < 0) != (n < 0))) \
            rt_fail("sign of " #type);                                                 \
    } while (0)

int main(int argc, char **argv)
{
    struct rng rng;
    if (argc > 1) { /* to be killed for it */
        values[0] = 1, values[1] = 0;
        printf("%d\n", (int)(values[0] / values[1]));
        return strlen(argv[1]) > 0;
    }
    rng_seed(&rng, 1);
    for (int i = 0; i < 200000; i++) {
        values[0] = pick(&rng), values[1] = pick(&rng);
        uint64_t a = values[0], b = values[1];
        CHECK_UNSIGNED(uint64_t, a, b);
        CHECK_UNSIGNED(uint32_t, a, b);
        CHECK_SIGNED(int64_t, uint64_t, a, b);
        CHECK_SIGNED(int32_t, uint32_t, a, b);
    }
    printf("divided\n");
    return 0;
}
