/* Move to front, with runs of zeros written as bijective binary numbers. */
#include "bwt.h"

static void reset_ranks(unsigned char *ranks)
{
    for (int i = 0; i < 256; i++)
        ranks[i] = (unsigned char)i;
}

/* The rank of `c`, which then becomes rank 0. */
static NOINLINE int move_to_front(unsigned char *ranks, unsigned char c)
{
    unsigned char carried = ranks[0];
    int r = 0;
    while (carried != c) {
        unsigned char t = ranks[++r];
        ranks[r] = carried;
        carried = t;
    }
    ranks[0] = c;
    return r;
}

static NOINLINE unsigned char take_rank(unsigned char *ranks, int r)
{
    unsigned char c = ranks[r];
    for (; r > 0; r--)
        ranks[r] = ranks[r - 1];
    ranks[0] = c;
    return c;
}

static NOINLINE int put_run(uint16_t *symbols, int count, int run)
{
    for (; run > 0; run = (run - 1) / 2)
        symbols[count++] = (run & 1) ? 0 : 1;
    return count;
}

int mtf_encode(const unsigned char *last, int n, uint16_t *symbols)
{
    unsigned char ranks[256];
    int count = 0, run = 0;
    reset_ranks(ranks);
    for (int i = 0; i < n; i++) {
        if (last[i] == ranks[0]) {
            run++;
            continue;
        }
        count = put_run(symbols, count, run);
        run = 0;
        symbols[count++] = (uint16_t)(move_to_front(ranks, last[i]) + 1);
    }
    return put_run(symbols, count, run);
}

int mtf_decode(const uint16_t *symbols, int count, unsigned char *last, int n)
{
    unsigned char ranks[256];
    int at = 0;
    reset_ranks(ranks);
    for (int i = 0; i < count;) {
        if (symbols[i] > 1) {
            if (at >= n)
                return -1;
            last[at++] = take_rank(ranks, symbols[i++] - 1);
            continue;
        }
        int run = 0;
        for (int digit = 1; i < count && symbols[i] <= 1; i++, digit *= 2)
            run += symbols[i] == 0 ? digit : 2 * digit;
        if (run > n - at)
            return -1;
        memset(last + at, ranks[0], (size_t)run);
        at += run;
    }
    return at;
}
