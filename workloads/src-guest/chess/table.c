/* The transposition table: two entries for each index, one kept by depth and one always replaced. */
#include "chess.h"

long table_hits, table_stores;

static struct table_entry *entries;
static uint64_t mask;

void table_init(int bits)
{
    size_t count = (size_t)1 << bits;
    free(entries);
    entries = calloc(count, sizeof(*entries));
    mask = (count - 1) & ~UINT64_C(1);
    table_hits = table_stores = 0;
}

struct table_entry *table_probe(uint64_t key)
{
    struct table_entry *e = &entries[key & mask];
    for (int i = 0; i < 2; i++)
        if (e[i].bound != BOUND_NONE && e[i].key == key) {
            table_hits++;
            return &e[i];
        }
    return 0;
}

void table_store(uint64_t key, move best, int score, int depth, enum bound bound)
{
    struct table_entry *e = &entries[key & mask];
    if (e->bound != BOUND_NONE && e->key != key && e->depth > depth)
        e++;
    table_stores++;
    e->key = key;
    e->best = best;
    e->score = (int16_t)score;
    e->depth = (int8_t)depth;
    e->bound = (uint8_t)bound;
}
