/* A tagger: pairs of neighbouring word classes are counted, and the cheapest chain of classes is found
 * by dynamic programming. */
#include "parse.h"

enum { SENTENCE_START = WORD_CLASSES, IMPOSSIBLE = 1 << 24 };

static NOINLINE int learn_word(struct tagger *g, int before, int class)
{
    g->follows[before][class]++;
    g->total[before]++;
    return class;
}

/* Walks the words of a tree from left to right; returns the class of the last one. */
static NOINLINE int learn_tree(struct tagger *g, const struct tree *t, int before)
{
    if (!t->rule)
        return learn_word(g, before, t->symbol);
    before = learn_tree(g, t->first, before);
    return t->second ? learn_tree(g, t->second, before) : before;
}

void tagger_learn(struct tagger *g, const struct tree *t)
{
    learn_tree(g, t, SENTENCE_START);
}

/* The binary logarithm in 16ths, less a constant, by repeated squaring; v < 2^17. */
static NOINLINE int logarithm(uint32_t v)
{
    int result = 0;
    uint64_t x = (uint64_t)v << 15;
    while (x < UINT64_C(1) << 31) {
        x <<= 1;
        result -= 16;
    }
    for (int step = 8; step > 0; step /= 2) {
        x = (x * x) >> 31;
        if (x >= UINT64_C(2) << 31) {
            x >>= 1;
            result += step;
        }
    }
    return result;
}

void tagger_prepare(struct tagger *g)
{
    for (int a = 0; a <= WORD_CLASSES; a++)
        for (int b = 0; b < WORD_CLASSES; b++)
            g->cost[a][b] = logarithm(g->total[a] + WORD_CLASSES) - logarithm(g->follows[a][b] + 1);
}

/* The best predecessor of a class at one word. */
static NOINLINE int best_before(const struct tagger *g, const int *before, int class, int *cost)
{
    int best = 0;
    *cost = IMPOSSIBLE;
    for (int a = 0; a < WORD_CLASSES; a++) {
        int c = before[a] + g->cost[a][class];
        if (c < *cost) {
            *cost = c;
            best = a;
        }
    }
    return best;
}

static NOINLINE int cheapest(const int *costs)
{
    int best = 0;
    for (int c = 1; c < WORD_CLASSES; c++)
        if (costs[c] < costs[best])
            best = c;
    return best;
}

int tagger_tag(struct tagger *g, const struct word *words, int count, uint8_t *tags)
{
    int costs[MAX_WORDS][WORD_CLASSES];
    uint8_t from[MAX_WORDS][WORD_CLASSES];
    if (count <= 0)
        return 0;
    for (int i = 0; i < count; i++)
        for (int c = 0; c < WORD_CLASSES; c++) {
            costs[i][c] = IMPOSSIBLE;
            if (!(words[i].classes >> c & 1))
                continue;
            if (i == 0)
                costs[i][c] = g->cost[SENTENCE_START][c];
            else
                from[i][c] = (uint8_t)best_before(g, costs[i - 1], c, &costs[i][c]);
        }
    int last = cheapest(costs[count - 1]), cost = costs[count - 1][last];
    for (int i = count - 1; i >= 0; i--) {
        tags[i] = (uint8_t)last;
        last = i > 0 ? from[i][last] : last;
    }
    return cost;
}
