/* The seeded generator and the checksum. */
#include "rt.h"

void rng_seed(struct rng *rng, uint64_t seed)
{
    /* One step of splitmix64 spreads small seeds; the state must not be zero. */
    uint64_t z = seed + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    rng->state = (z ^ (z >> 31)) | 1;
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t x = rng->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    rng->state = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)(((rng_next(rng) >> 32) * bound) >> 32);
}

uint64_t checksum_bytes(uint64_t sum, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n-- > 0)
        sum = (sum ^ *p++) * UINT64_C(0x100000001b3);
    return sum;
}

uint64_t checksum_word(uint64_t sum, uint64_t word)
{
    for (int i = 0; i < 8; i++, word >>= 8)
        sum = (sum ^ (word & 255)) * UINT64_C(0x100000001b3);
    return sum;
}
