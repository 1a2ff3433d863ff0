/* Hash chains: for each hash of four bytes the last position that had it, and for each position the
 * one before. */
#include "lz.h"

#define HASH_BITS 14

struct finder {
    const unsigned char *data;
    int n;
    int head[1 << HASH_BITS];
    int previous[WINDOW];
};

struct finder *finder_new(const unsigned char *data, int n)
{
    struct finder *f = malloc(sizeof(*f));
    f->data = data;
    f->n = n;
    for (int i = 0; i < 1 << HASH_BITS; i++)
        f->head[i] = -1;
    return f;
}

void finder_free(struct finder *f)
{
    free(f);
}

static NOINLINE uint32_t hash_at(const unsigned char *p)
{
    uint32_t v = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return (v * 2654435761u) >> (32 - HASH_BITS);
}

void finder_insert(struct finder *f, int at)
{
    if (at + MIN_MATCH > f->n)
        return;
    uint32_t h = hash_at(f->data + at);
    f->previous[at % WINDOW] = f->head[h];
    f->head[h] = at;
}

static NOINLINE int match_length(const unsigned char *a, const unsigned char *b, int limit)
{
    int i = 0;
    while (i < limit && a[i] == b[i])
        i++;
    return i;
}

struct match finder_search(struct finder *f, int at, int effort)
{
    struct match best = {0, 0};
    int limit = f->n - at < MAX_MATCH ? f->n - at : MAX_MATCH;
    if (limit < MIN_MATCH)
        return best;
    int candidate = f->head[hash_at(f->data + at)];
    int oldest = at >= WINDOW ? at - WINDOW + 1 : 0;
    for (; candidate >= oldest && effort > 0; effort--) {
        /* A longer match must agree where the best one ended. */
        if (f->data[candidate + best.length] == f->data[at + best.length]) {
            int length = match_length(f->data + candidate, f->data + at, limit);
            if (length > best.length) {
                best.length = length;
                best.distance = at - candidate;
                if (length == limit)
                    break;
            }
        }
        int older = f->previous[candidate % WINDOW];
        if (older >= candidate)
            break;
        candidate = older;
    }
    if (best.length < MIN_MATCH)
        best.length = 0;
    return best;
}
