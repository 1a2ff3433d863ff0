/* An adaptive binary range coder.  A symbol is written as the unary-like class of its magnitude,
 * in the context of the class before it, followed by its low bits. */
#include "bwt.h"

#define PROBABILITY_BITS 12
#define ADAPT_SHIFT 5
#define CLASSES 10
#define END_SYMBOL 257

struct model {
    uint16_t class_bits[CLASSES + 1][16];
    uint16_t low_bits[CLASSES][512];
};

struct encoder {
    uint64_t low;
    uint32_t range;
    unsigned char cache;
    int pending;
    unsigned char *out, *start;
};

struct decoder {
    uint32_t code, range;
    const unsigned char *in;
};

static NOINLINE void reset_model(struct model *m)
{
    uint16_t *p = (uint16_t *)m;
    for (size_t i = 0; i < sizeof(*m) / sizeof(*p); i++)
        p[i] = 1 << (PROBABILITY_BITS - 1);
}

/* Moves the top byte out; a run of 0xff waits until it is known whether a carry will come. */
static NOINLINE void shift_low(struct encoder *e)
{
    if (e->low < UINT64_C(0xff000000) || e->low >> 32 != 0) {
        unsigned char carry = (unsigned char)(e->low >> 32);
        unsigned char byte = e->cache;
        for (; e->pending > 0; e->pending--) {
            *e->out++ = (unsigned char)(byte + carry);
            byte = 0xff;
        }
        e->cache = (unsigned char)(e->low >> 24);
    }
    e->pending++;
    e->low = (e->low & 0x00ffffff) << 8;
}

static NOINLINE void encode_bit(struct encoder *e, uint16_t *p, int bit)
{
    uint32_t bound = (e->range >> PROBABILITY_BITS) * *p;
    if (bit == 0) {
        e->range = bound;
        *p = (uint16_t)(*p + (((1 << PROBABILITY_BITS) - *p) >> ADAPT_SHIFT));
    } else {
        e->low += bound;
        e->range -= bound;
        *p = (uint16_t)(*p - (*p >> ADAPT_SHIFT));
    }
    while (e->range < (1u << 24)) {
        e->range <<= 8;
        shift_low(e);
    }
}

static NOINLINE int decode_bit(struct decoder *d, uint16_t *p)
{
    uint32_t bound = (d->range >> PROBABILITY_BITS) * *p;
    int bit = d->code >= bound;
    if (bit == 0) {
        d->range = bound;
        *p = (uint16_t)(*p + (((1 << PROBABILITY_BITS) - *p) >> ADAPT_SHIFT));
    } else {
        d->code -= bound;
        d->range -= bound;
        *p = (uint16_t)(*p - (*p >> ADAPT_SHIFT));
    }
    while (d->range < (1u << 24)) {
        d->range <<= 8;
        d->code = d->code << 8 | *d->in++;
    }
    return bit;
}

/* The number of bits of symbol + 1, less one. */
static NOINLINE int class_of(int symbol)
{
    int c = 0;
    for (int v = symbol + 1; v > 1; v >>= 1)
        c++;
    return c;
}

static NOINLINE void encode_symbol(struct encoder *e, struct model *m, int context, int symbol)
{
    int class = class_of(symbol), node = 1;
    for (int i = 3; i >= 0; i--) {
        int bit = class >> i & 1;
        encode_bit(e, &m->class_bits[context][node], bit);
        node = 2 * node + bit;
    }
    node = 1;
    for (int i = class - 1; i >= 0; i--) {
        int bit = (symbol + 1) >> i & 1;
        encode_bit(e, &m->low_bits[class][node], bit);
        node = 2 * node + bit;
    }
}

static NOINLINE int decode_symbol(struct decoder *d, struct model *m, int context)
{
    int node = 1;
    for (int i = 0; i < 4; i++)
        node = 2 * node + decode_bit(d, &m->class_bits[context][node]);
    int class = node - 16;
    if (class >= CLASSES)
        rt_fail("damaged code");
    node = 1;
    for (int i = 0; i < class; i++)
        node = 2 * node + decode_bit(d, &m->low_bits[class][node]);
    return node - 1;
}

int code_symbols(const uint16_t *symbols, int count, unsigned char *out)
{
    struct model *m = malloc(sizeof(*m));
    struct encoder e = {0, 0xffffffff, 0, 1, out, out};
    int context = CLASSES;
    reset_model(m);
    for (int i = 0; i < count; i++) {
        encode_symbol(&e, m, context, symbols[i]);
        context = class_of(symbols[i]);
    }
    encode_symbol(&e, m, context, END_SYMBOL);
    for (int i = 0; i < 5; i++)
        shift_low(&e);
    free(m);
    return (int)(e.out - e.start);
}

int decode_symbols(const unsigned char *in, uint16_t *symbols, int limit)
{
    struct model *m = malloc(sizeof(*m));
    struct decoder d = {0, 0xffffffff, in + 1};
    int context = CLASSES, count = 0;
    reset_model(m);
    for (int i = 0; i < 4; i++)
        d.code = d.code << 8 | *d.in++;
    for (;;) {
        int symbol = decode_symbol(&d, m, context);
        if (symbol == END_SYMBOL)
            break;
        if (count >= limit)
            rt_fail("too many symbols");
        symbols[count++] = (uint16_t)symbol;
        context = class_of(symbol);
    }
    free(m);
    return count;
}
