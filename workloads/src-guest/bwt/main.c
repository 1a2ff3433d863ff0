/* bwt: compresses generated blocks by sorting them, restores them and compares. */
#include "bwt.h"

struct totals {
    long in, out;
    uint64_t sum;
};

static unsigned char original[BLOCK_MAX], restored[BLOCK_MAX], last_column[BLOCK_MAX];
static unsigned char packed[2 * BLOCK_MAX + 64];
static uint16_t symbols[2 * BLOCK_MAX];

static NOINLINE int compress(const unsigned char *block, int n, int *row)
{
    *row = bwt_forward(block, n, last_column);
    int count = mtf_encode(last_column, n, symbols);
    return code_symbols(symbols, count, packed);
}

static NOINLINE void decompress(unsigned char *block, int n, int row)
{
    int count = decode_symbols(packed, symbols, 2 * BLOCK_MAX);
    if (mtf_decode(symbols, count, last_column, n) != n)
        rt_fail("wrong length");
    bwt_inverse(last_column, n, row, block);
}

static NOINLINE void round_trip(const struct input_kind *kind, struct rng *rng, int n, struct totals *t)
{
    int row;
    kind->fill(rng, original, n);
    int length = compress(original, n, &row);
    memset(last_column, 0, (size_t)n);
    decompress(restored, n, row);
    if (memcmp(original, restored, (size_t)n) != 0)
        rt_fail("the restored block differs");
    t->in += n;
    t->out += length;
    t->sum = checksum_word(checksum_bytes(t->sum, packed, (size_t)length), (uint64_t)row);
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    int block = large ? BLOCK_MAX : 960, rounds = large ? 2 : 1;
    struct rng rng;
    rng_seed(&rng, 1994);
    for (int k = 0; k < input_kind_count; k++) {
        struct totals t = {0, 0, CHECKSUM_START};
        for (int i = 0; i < rounds; i++)
            round_trip(&input_kinds[k], &rng, block, &t);
        printf("%-8s in %ld out %ld sum %016lx\n", input_kinds[k].name, t.in, t.out, (unsigned long)t.sum);
    }
    printf("blocks sorted by doubling: %ld\n", fallback_sorts);
    return 0;
}
