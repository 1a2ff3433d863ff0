/* lz: compresses generated files with three strategies, restores them and compares. */
#include "lz.h"

#define FILE_MAX (256 * 1024)

static unsigned char original[FILE_MAX], restored[FILE_MAX], packed[2 * FILE_MAX];
static struct token tokens[FILE_MAX];
static uint32_t crc_table[256];

static NOINLINE void fill_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int bit = 0; bit < 8; bit++)
            v = v & 1 ? 0xedb88320u ^ v >> 1 : v >> 1;
        crc_table[i] = v;
    }
}

uint32_t crc32(const unsigned char *data, int n)
{
    uint32_t crc = 0xffffffffu;
    for (int i = 0; i < n; i++)
        crc = crc_table[(crc ^ data[i]) & 255] ^ crc >> 8;
    return ~crc;
}

/* Log lines: a few templates with changing numbers. */
static NOINLINE int make_log(struct rng *rng, unsigned char *out, int n)
{
    static const char *const templates[] = {
        "%08u INFO  request %u from host-%u took %u us\n",
        "%08u WARN  cache %u of pool-%u is %u percent full\n",
        "%08u INFO  session %u opened by user-%u on port %u\n",
        "%08u ERROR retry %u of job-%u failed with status %u\n",
    };
    uint32_t time = 17;
    int at = 0;
    while (at < n) {
        char line[96];
        time += rng_below(rng, 50);
        const char *format = templates[rng_below(rng, ARRAY_LEN(templates))];
        uint32_t a = rng_below(rng, 10000), b = rng_below(rng, 40), c = rng_below(rng, 900);
        int length = snprintf(line, sizeof(line), format, time, a, b, c);
        if (length > n - at)
            length = n - at;
        memcpy(out + at, line, (size_t)length);
        at += length;
    }
    return n;
}

/* A picture: rows that resemble the row above. */
static NOINLINE int make_picture(struct rng *rng, unsigned char *out, int n)
{
    for (int i = 0; i < n; i++) {
        int up = i >= 256 ? out[i - 256] : (i & 255) / 4;
        uint32_t dice = rng_below(rng, 64);
        out[i] = (unsigned char)(dice == 0 ? up + 1 : dice == 1 ? up - 1 : up);
    }
    return n;
}

/* Machine-code-like words: a fixed opcode byte and varying fields. */
static NOINLINE int make_code(struct rng *rng, unsigned char *out, int n)
{
    for (int i = 0; i + 4 <= n; i += 4) {
        uint32_t word = 0x13 + 16 * rng_below(rng, 6);
        word |= rng_below(rng, 8) << 7;
        word |= rng_below(rng, 8) << 15;
        if (rng_below(rng, 4) == 0)
            word |= rng_below(rng, 4096) << 20;
        for (int b = 0; b < 4; b++)
            out[i + b] = (unsigned char)(word >> (8 * b));
    }
    return n & ~3;
}

struct file_kind {
    const char *name;
    int (*make)(struct rng *rng, unsigned char *out, int n);
};

static const struct file_kind kinds[] = {
    {"log", make_log},
    {"picture", make_picture},
    {"code", make_code},
};

static NOINLINE int compress(const struct strategy *s, const unsigned char *data, int n, unsigned char *out)
{
    struct finder *f = finder_new(data, n);
    int count = s->parse(f, data, n, tokens);
    finder_free(f);
    return write_block(tokens, count, out);
}

static NOINLINE void round_trip(const struct file_kind *kind, const struct strategy *s, int n)
{
    uint32_t before = crc32(original, n);
    int length = compress(s, original, n, packed);
    int back = read_block(packed, restored, FILE_MAX);
    if (back != n || crc32(restored, n) != before || memcmp(original, restored, (size_t)n) != 0)
        rt_fail("the restored file differs");
    printf("%-8s %-7s in %d out %d crc %08x sum %016lx\n", kind->name, s->name, n, length, before,
           (unsigned long)checksum_bytes(CHECKSUM_START, packed, (size_t)length));
}

int main(int argc, char **argv)
{
    int n = workload_size(argc, argv) == WORKLOAD_LARGE ? FILE_MAX : 1770;
    struct rng rng;
    rng_seed(&rng, 1977);
    fill_crc_table();
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        int length = kinds[k].make(&rng, original, n);
        for (int s = 0; s < strategy_count; s++)
            round_trip(&kinds[k], &strategies[s], length);
    }
    return 0;
}
