/* Huffman codes of limited length: a heap builds the tree, overlong codes are shortened by moving
 * leaves, and the canonical form is kept. */
#include "lz.h"

struct heap {
    int node[LITERAL_SYMBOLS];
    int size;
    const uint32_t *weight;
};

static int heap_before(const struct heap *h, int a, int b)
{
    return h->weight[a] < h->weight[b] || (h->weight[a] == h->weight[b] && a < b);
}

static NOINLINE void heap_push(struct heap *h, int node)
{
    int at = h->size++;
    while (at > 0 && heap_before(h, node, h->node[(at - 1) / 2])) {
        h->node[at] = h->node[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->node[at] = node;
}

static NOINLINE int heap_pop(struct heap *h)
{
    int top = h->node[0], moved = h->node[--h->size], at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= h->size)
            break;
        if (child + 1 < h->size && heap_before(h, h->node[child + 1], h->node[child]))
            child++;
        if (!heap_before(h, h->node[child], moved))
            break;
        h->node[at] = h->node[child];
        at = child;
    }
    h->node[at] = moved;
    return top;
}

/* Makes the code complete again after lengths were cut to the maximum (Kraft sum, largest first). */
static NOINLINE void limit_lengths(int *per_length, int longest)
{
    for (int l = longest; l > MAX_CODE_LENGTH; l--) {
        while (per_length[l] > 0) {
            int from = l - 2;
            while (per_length[from] == 0)
                from--;
            per_length[l] -= 2;
            per_length[l - 1]++;
            per_length[from + 1] += 2;
            per_length[from]--;
        }
    }
}

static NOINLINE void sort_by_count(const uint32_t *counts, int *symbol, int used)
{
    for (int gap = 40; gap > 0; gap = gap == 40 ? 13 : gap == 13 ? 4 : gap == 4 ? 1 : 0)
        for (int i = gap; i < used; i++) {
            int s = symbol[i], j = i;
            while (j >= gap && counts[symbol[j - gap]] < counts[s]) {
                symbol[j] = symbol[j - gap];
                j -= gap;
            }
            symbol[j] = s;
        }
}

void code_build(struct code *c, const uint32_t *counts, int symbols)
{
    uint32_t weight[2 * LITERAL_SYMBOLS];
    int parent[2 * LITERAL_SYMBOLS], depth[2 * LITERAL_SYMBOLS], per_length[2 * LITERAL_SYMBOLS] = {0};
    int used_symbol[LITERAL_SYMBOLS], used = 0, nodes = symbols, longest = 1;
    struct heap heap = {{0}, 0, weight};
    memset(c->length, 0, sizeof(c->length));
    for (int i = 0; i < symbols; i++) {
        weight[i] = counts[i];
        if (counts[i]) {
            heap_push(&heap, i);
            used_symbol[used++] = i;
        }
    }
    if (used <= 1) {
        c->length[used ? used_symbol[0] : 0] = 1;
        code_assign(c, symbols);
        return;
    }
    while (heap.size > 1) {
        int a = heap_pop(&heap), b = heap_pop(&heap);
        weight[nodes] = weight[a] + weight[b];
        parent[a] = parent[b] = nodes;
        heap_push(&heap, nodes++);
    }
    depth[nodes - 1] = 0;
    for (int i = nodes - 2; i >= 0; i--) {
        if (i < symbols && counts[i] == 0)
            continue;
        depth[i] = depth[parent[i]] + 1;
        if (i < symbols) {
            per_length[depth[i]]++;
            longest = depth[i] > longest ? depth[i] : longest;
        }
    }
    limit_lengths(per_length, longest);
    sort_by_count(counts, used_symbol, used);
    for (int l = 1, i = 0; l <= MAX_CODE_LENGTH; l++)
        for (int k = 0; k < per_length[l]; k++)
            c->length[used_symbol[i++]] = (uint8_t)l;
    code_assign(c, symbols);
}

static NOINLINE uint16_t reverse_bits(uint32_t value, int count)
{
    uint32_t r = 0;
    for (; count > 0; count--, value >>= 1)
        r = r << 1 | (value & 1);
    return (uint16_t)r;
}

void code_assign(struct code *c, int symbols)
{
    uint16_t per_length[MAX_CODE_LENGTH + 2] = {0}, next[MAX_CODE_LENGTH + 2];
    for (int i = 0; i < symbols; i++)
        per_length[c->length[i]]++;
    per_length[0] = 0;
    uint32_t code = 0, sum = 0;
    for (int l = 1; l <= MAX_CODE_LENGTH; l++) {
        code = (code + per_length[l - 1]) << 1;
        c->first[l] = (uint16_t)code;
        c->offset[l] = (uint16_t)sum;
        next[l] = (uint16_t)sum;
        sum += per_length[l];
    }
    c->offset[MAX_CODE_LENGTH + 1] = (uint16_t)sum;
    for (int i = 0; i < symbols; i++) {
        int l = c->length[i];
        if (l == 0)
            continue;
        uint16_t place = next[l]++;
        c->sorted[place] = (uint16_t)i;
        c->bits[i] = reverse_bits((uint32_t)(c->first[l] + place - c->offset[l]), l);
    }
}
