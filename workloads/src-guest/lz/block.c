/* Tokens to a coded block and back.  Lengths and distances are split into a bucket, which is Huffman
 * coded, and the offset in it. */
#include "lz.h"

struct bucket {
    int symbol, extra_bits, extra;
};

/* Buckets 0..3 hold one value each; after that two buckets share each power of two. */
static NOINLINE struct bucket bucket_of(int value)
{
    struct bucket b = {value, 0, 0};
    if (value >= 4) {
        int top = 0;
        for (int v = value; v > 1; v >>= 1)
            top++;
        b.extra_bits = top - 1;
        b.symbol = 2 * top + (value >> (top - 1) & 1);
        b.extra = value & ((1 << b.extra_bits) - 1);
    }
    return b;
}

static NOINLINE int bucket_value(struct bit_reader *r, int symbol)
{
    if (symbol < 4)
        return symbol;
    int top = symbol / 2;
    return ((2 | (symbol & 1)) << (top - 1)) | (int)get_bits(r, top - 1);
}

static NOINLINE void count_tokens(const struct token *t, int count, uint32_t *literals, uint32_t *distances)
{
    memset(literals, 0, LITERAL_SYMBOLS * sizeof(*literals));
    memset(distances, 0, DISTANCE_SYMBOLS * sizeof(*distances));
    for (int i = 0; i < count; i++) {
        if (t[i].distance == 0) {
            literals[t[i].length]++;
        } else {
            literals[END_MARK + 1 + bucket_of(t[i].length - MIN_MATCH).symbol]++;
            distances[bucket_of(t[i].distance - 1).symbol]++;
        }
    }
    literals[END_MARK] = 1;
}

/* Code lengths as nibbles; zero is followed by a run length. */
static NOINLINE void write_lengths(struct bit_writer *w, const struct code *c, int symbols)
{
    for (int i = 0; i < symbols;) {
        put_bits(w, c->length[i], 4);
        if (c->length[i++] != 0)
            continue;
        int run = 0;
        for (; i < symbols && c->length[i] == 0 && run < 63; i++)
            run++;
        put_bits(w, (uint32_t)run, 6);
    }
}

static NOINLINE void read_lengths(struct bit_reader *r, struct code *c, int symbols)
{
    memset(c->length, 0, sizeof(c->length));
    for (int i = 0; i < symbols;) {
        c->length[i] = (uint8_t)get_bits(r, 4);
        if (c->length[i++] == 0)
            i += (int)get_bits(r, 6);
    }
    code_assign(c, symbols);
}

static NOINLINE void write_match(struct bit_writer *w, const struct code *lengths, const struct code *distances,
                                 const struct token *t)
{
    struct bucket l = bucket_of(t->length - MIN_MATCH), d = bucket_of(t->distance - 1);
    int symbol = END_MARK + 1 + l.symbol;
    put_bits(w, lengths->bits[symbol], lengths->length[symbol]);
    put_bits(w, (uint32_t)l.extra, l.extra_bits);
    put_bits(w, distances->bits[d.symbol], distances->length[d.symbol]);
    put_bits(w, (uint32_t)d.extra, d.extra_bits);
}

int write_block(const struct token *tokens, int count, unsigned char *out)
{
    uint32_t literal_counts[LITERAL_SYMBOLS], distance_counts[DISTANCE_SYMBOLS];
    struct code literals, distances;
    struct bit_writer w = {out, 0, 0};
    count_tokens(tokens, count, literal_counts, distance_counts);
    code_build(&literals, literal_counts, LITERAL_SYMBOLS);
    code_build(&distances, distance_counts, DISTANCE_SYMBOLS);
    write_lengths(&w, &literals, LITERAL_SYMBOLS);
    write_lengths(&w, &distances, DISTANCE_SYMBOLS);
    for (int i = 0; i < count; i++) {
        if (tokens[i].distance == 0)
            put_bits(&w, literals.bits[tokens[i].length], literals.length[tokens[i].length]);
        else
            write_match(&w, &literals, &distances, &tokens[i]);
    }
    put_bits(&w, literals.bits[END_MARK], literals.length[END_MARK]);
    return (int)(finish_bits(&w) - out);
}

static NOINLINE int copy_match(unsigned char *data, int at, int length, int distance, int limit)
{
    if (distance > at || length > limit - at)
        rt_fail("damaged match");
    for (int i = 0; i < length; i++)
        data[at + i] = data[at + i - distance];
    return at + length;
}

int read_block(const unsigned char *in, unsigned char *data, int limit)
{
    struct code literals, distances;
    struct bit_reader r = {in, 0, 0};
    int at = 0;
    read_lengths(&r, &literals, LITERAL_SYMBOLS);
    read_lengths(&r, &distances, DISTANCE_SYMBOLS);
    for (;;) {
        int symbol = get_symbol(&r, &literals);
        if (symbol == END_MARK)
            return at;
        if (symbol < END_MARK) {
            if (at >= limit)
                rt_fail("too much data");
            data[at++] = (unsigned char)symbol;
            continue;
        }
        int length = bucket_value(&r, symbol - END_MARK - 1) + MIN_MATCH;
        int distance = bucket_value(&r, get_symbol(&r, &distances)) + 1;
        at = copy_match(data, at, length, distance, limit);
    }
}
