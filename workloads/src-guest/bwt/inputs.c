/* What is compressed: four kinds of generated data that stress the sort differently. */
#include "bwt.h"

static const char *const syllables[] = {
    "ba", "con", "de", "er", "fi", "gra", "in", "ka", "lo", "men", "ne", "or",
    "pre", "qui", "re", "sta", "ti", "un", "ver", "wo", "xe", "yn", "za", "ing",
};

/* Words of a small vocabulary whose frequencies fall off like those of a natural language. */
static NOINLINE void fill_text(struct rng *rng, unsigned char *block, int n)
{
    int at = 0, column = 0;
    while (at < n) {
        uint32_t rank = rng_below(rng, 1 + rng_below(rng, 1 + rng_below(rng, 3000)));
        struct rng word;
        rng_seed(&word, rank);
        int parts = 1 + (int)rng_below(&word, 3);
        for (int i = 0; i < parts; i++)
            for (const char *s = syllables[rng_below(&word, ARRAY_LEN(syllables))]; *s && at < n; s++, column++)
                block[at++] = (unsigned char)*s;
        if (at < n)
            block[at++] = column > 60 ? '\n' : ' ';
        if (column > 60)
            column = 0;
    }
}

/* Fixed-size records with counters and flags, as a program's data file would hold. */
static NOINLINE void fill_records(struct rng *rng, unsigned char *block, int n)
{
    uint32_t key = 1000;
    for (int at = 0; at < n; at++) {
        int field = at % 16;
        if (field == 0)
            key += 1 + rng_below(rng, 9);
        if (field < 4)
            block[at] = (unsigned char)(key >> (8 * field));
        else if (field < 8)
            block[at] = (unsigned char)(field == 7 ? 0 : rng_below(rng, 4));
        else
            block[at] = (unsigned char)(rng_below(rng, 5) == 0 ? rng_below(rng, 256) : 0x40 + (uint32_t)field);
    }
}

/* Four letters with copied stretches. */
static NOINLINE void fill_letters(struct rng *rng, unsigned char *block, int n)
{
    int at = 0;
    while (at < n) {
        if (at > 200 && rng_below(rng, 40) == 0) {
            int from = (int)rng_below(rng, (uint32_t)at - 100);
            for (int i = 0; i < 100 && at < n; i++)
                block[at++] = block[from + i];
        } else {
            block[at++] = (unsigned char)"acgt"[rng_below(rng, 4)];
        }
    }
}

/* A short motif over and over with rare changes: the worst case for comparing rotations. */
static NOINLINE void fill_periodic(struct rng *rng, unsigned char *block, int n)
{
    for (int at = 0; at < n; at++)
        block[at] = (unsigned char)("abcabcabd"[at % 9]);
    for (int i = 0; i < 8; i++)
        block[rng_below(rng, (uint32_t)n)] = 'z';
}

const struct input_kind input_kinds[] = {
    {"text", fill_text},
    {"records", fill_records},
    {"letters", fill_letters},
    {"periodic", fill_periodic},
};
const int input_kind_count = ARRAY_LEN(input_kinds);
