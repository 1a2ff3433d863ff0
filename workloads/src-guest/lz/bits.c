/* Bit streams, lowest bit first. */
#include "lz.h"

void put_bits(struct bit_writer *w, uint32_t value, int count)
{
    w->held |= (uint64_t)value << w->count;
    w->count += count;
    while (w->count >= 8) {
        *w->out++ = (unsigned char)w->held;
        w->held >>= 8;
        w->count -= 8;
    }
}

unsigned char *finish_bits(struct bit_writer *w)
{
    if (w->count > 0)
        put_bits(w, 0, 8 - w->count);
    return w->out;
}

uint32_t get_bits(struct bit_reader *r, int count)
{
    while (r->count < count) {
        r->held |= (uint64_t)*r->in++ << r->count;
        r->count += 8;
    }
    uint32_t value = (uint32_t)(r->held & ((UINT64_C(1) << count) - 1));
    r->held >>= count;
    r->count -= count;
    return value;
}

/* Reads a canonical code bit by bit: at each length the codes form one interval. */
int get_symbol(struct bit_reader *r, const struct code *c)
{
    uint32_t value = 0;
    for (int l = 1; l <= MAX_CODE_LENGTH; l++) {
        value = value << 1 | get_bits(r, 1);
        uint32_t here = (uint32_t)c->offset[l + 1] - c->offset[l];
        if (value - c->first[l] < here)
            return c->sorted[c->offset[l] + value - c->first[l]];
    }
    rt_fail("damaged code");
}
