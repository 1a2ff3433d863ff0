/* The Burrows-Wheeler transform of a block and its inverse. */
#include "bwt.h"

int bwt_forward(const unsigned char *block, int n, unsigned char *last)
{
    int *order = malloc((size_t)n * sizeof(int));
    int row = -1;
    sort_rotations(block, n, order);
    for (int i = 0; i < n; i++) {
        if (order[i] == 0)
            row = i;
        last[i] = block[order[i] == 0 ? n - 1 : order[i] - 1];
    }
    free(order);
    return row;
}

/* Follows the rows from the original rotation: a chase through memory, one load after the other. */
static NOINLINE void follow_rows(const uint32_t *links, int n, int row, unsigned char *block)
{
    uint32_t link = links[row];
    for (int i = 0; i < n; i++) {
        block[i] = (unsigned char)link;
        link = links[link >> 8];
    }
}

void bwt_inverse(const unsigned char *last, int n, int row, unsigned char *block)
{
    uint32_t *links = malloc((size_t)n * sizeof(uint32_t));
    int start[257] = {0};
    for (int i = 0; i < n; i++)
        start[last[i] + 1]++;
    for (int c = 0; c < 256; c++)
        start[c + 1] += start[c];
    int first[257];
    memcpy(first, start, sizeof(first));
    /* The i-th c of the last column is the i-th c of the first one. */
    for (int i = 0; i < n; i++)
        links[start[last[i]]++] = (uint32_t)i << 8;
    for (int c = 0; c < 256; c++)
        for (int i = first[c]; i < first[c + 1]; i++)
            links[i] |= (uint32_t)c;
    follow_rows(links, n, row, block);
    free(links);
}
