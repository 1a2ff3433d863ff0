/* Sorting of rotations: a bucket pass on two bytes (one in short blocks), then three-way string
 * quicksort in each bucket.  A block that repeats itself would make that quadratic; after a budget
 * of steps the whole block is sorted by prefix doubling instead. */
#include "bwt.h"

#define SMALL_PART 12
/* A shorter block has fewer rotations than two bytes would give buckets to walk. */
#define SHORT_BLOCK (16 * 1024)

long fallback_sorts;

struct sorter {
    const unsigned char *block; /* twice the block, so that a rotation never wraps */
    int n;
    long budget; /* byte comparisons left before giving up */
};

static unsigned char doubled[2 * BLOCK_MAX];

static inline int byte_at(const struct sorter *s, int rotation, int depth)
{
    return s->block[rotation + depth];
}

static NOINLINE int rotation_less(struct sorter *s, int a, int b, int depth)
{
    int start = depth;
    int less = 0;
    while (depth < s->n) {
        int x = byte_at(s, a, depth), y = byte_at(s, b, depth);
        if (x != y) {
            less = x < y;
            break;
        }
        depth++;
    }
    s->budget -= depth - start;
    return less;
}

static NOINLINE void insertion_sort(struct sorter *s, int *order, int count, int depth)
{
    for (int i = 1; i < count; i++) {
        int rotation = order[i], j = i;
        while (j > 0 && rotation_less(s, rotation, order[j - 1], depth)) {
            order[j] = order[j - 1];
            j--;
        }
        order[j] = rotation;
    }
}

static int median_of_three(int a, int b, int c)
{
    if (a > b) {
        int t = a;
        a = b;
        b = t;
    }
    return c < a ? a : c > b ? b : c;
}

static inline void swap(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

/* Bentley and Sedgewick's three-way partition on the byte at `depth`. */
static NOINLINE void string_quicksort(struct sorter *s, int *order, int count, int depth)
{
    while (count > SMALL_PART) {
        if (depth >= s->n || s->budget < 0)
            return;
        int pivot = median_of_three(byte_at(s, order[0], depth), byte_at(s, order[count / 2], depth),
                                    byte_at(s, order[count - 1], depth));
        int lower = 0, i = 0, upper = count;
        while (i < upper) {
            int c = byte_at(s, order[i], depth);
            if (c < pivot)
                swap(&order[lower++], &order[i++]);
            else if (c > pivot)
                swap(&order[i], &order[--upper]);
            else
                i++;
        }
        s->budget -= count;
        string_quicksort(s, order, lower, depth);
        string_quicksort(s, order + upper, count - upper, depth);
        order += lower;
        count = upper - lower;
        depth++;
    }
    insertion_sort(s, order, count, depth);
}

/* Spreads all rotations over the buckets by the top `bits` of their first two bytes. */
static NOINLINE void bucket_pass(const unsigned char *block, int n, int *order, int *start, int bits)
{
    int shift = 16 - bits, buckets = 1 << bits;
    memset(start, 0, ((size_t)buckets + 1) * sizeof(int));
    for (int i = 0; i < n; i++)
        start[((block[i] << 8 | block[i + 1]) >> shift) + 1]++;
    for (int i = 0; i < buckets; i++)
        start[i + 1] += start[i];
    for (int i = 0; i < n; i++)
        order[start[(block[i] << 8 | block[i + 1]) >> shift]++] = i;
}

/* One round of prefix doubling sorts by (rank[i], rank[i + step]) with two counting passes. */
static NOINLINE void counting_pass(const int *in, int *out, int n, const int *rank, int step, int *count)
{
    memset(count, 0, ((size_t)n + 1) * sizeof(int));
    for (int i = 0; i < n; i++)
        count[rank[i] + 1]++;
    for (int i = 0; i < n; i++)
        count[i + 1] += count[i];
    for (int i = 0; i < n; i++) {
        int rotation = in[i], at = rotation + step;
        if (at >= n)
            at -= n;
        out[count[rank[at]]++] = rotation;
    }
}

static NOINLINE int new_ranks(const int *order, const int *rank, int *next, int n, int step)
{
    int r = 0;
    next[order[0]] = 0;
    for (int i = 1; i < n; i++) {
        int a = order[i - 1], b = order[i];
        int a2 = a + step < n ? a + step : a + step - n, b2 = b + step < n ? b + step : b + step - n;
        r += rank[a] != rank[b] || rank[a2] != rank[b2];
        next[b] = r;
    }
    return r + 1;
}

static NOINLINE void doubling_sort(const unsigned char *block, int n, int *order)
{
    int limit = n > 256 ? n : 256;
    int *rank = malloc((size_t)limit * sizeof(int)), *next = malloc((size_t)limit * sizeof(int));
    int *half = malloc((size_t)limit * sizeof(int)), *count = malloc(((size_t)limit + 1) * sizeof(int));
    int first[257] = {0};
    fallback_sorts++;
    for (int i = 0; i < n; i++)
        first[block[i] + 1]++;
    for (int i = 0, r = 0; i < 256; i++) {
        int present = first[i + 1] > 0;
        first[i + 1] = r;
        r += present;
    }
    for (int i = 0; i < n; i++) {
        rank[i] = first[block[i] + 1];
        order[i] = i;
    }
    for (int step = 1; step < n; step *= 2) {
        counting_pass(order, half, n, rank, step, count);
        counting_pass(half, order, n, rank, 0, count);
        int classes = new_ranks(order, rank, next, n, step);
        int *t = rank;
        rank = next;
        next = t;
        if (classes == n)
            break;
    }
    free(rank);
    free(next);
    free(half);
    free(count);
}

void sort_rotations(const unsigned char *block, int n, int *order)
{
    memcpy(doubled, block, (size_t)n);
    memcpy(doubled + n, block, (size_t)n);
    struct sorter s = {doubled, n, 100L * n};
    int bytes = n < SHORT_BLOCK ? 1 : 2, buckets = 1 << (8 * bytes);
    int *start = malloc(((size_t)buckets + 1) * sizeof(int));
    bucket_pass(doubled, n, order, start, 8 * bytes);
    for (int b = 0, from = 0; b < buckets && s.budget >= 0; b++) {
        /* After the pass start[b] is where bucket b ends. */
        int end = start[b];
        if (end - from > 1)
            string_quicksort(&s, order + from, end - from, bytes);
        from = end;
    }
    free(start);
    if (s.budget < 0)
        doubling_sort(block, n, order);
}
