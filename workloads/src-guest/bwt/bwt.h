/* Block-sorting compression: the parts and how they fit.
 *
 * text -> rotations sorted (sort.c) -> last column (transform.c) -> move to front and zero runs
 * (mtf.c) -> adaptive binary range coder (coder.c) -> bytes, and all the way back. */
#ifndef BWT_H
#define BWT_H

#include "rt.h"

#define BLOCK_MAX (64 * 1024)

/* Inputs (inputs.c): each fills `block` with `n` bytes of its own kind. */
typedef void input_generator(struct rng *rng, unsigned char *block, int n);
struct input_kind {
    const char *name;
    input_generator *fill;
};
extern const struct input_kind input_kinds[];
extern const int input_kind_count;

/* Sorting (sort.c): order[i] is where the i-th smallest rotation of block[0..n) starts. */
void sort_rotations(const unsigned char *block, int n, int *order);
extern long fallback_sorts;

/* The transform (transform.c); bwt_forward returns the row of the original rotation. */
int bwt_forward(const unsigned char *block, int n, unsigned char *last);
void bwt_inverse(const unsigned char *last, int n, int row, unsigned char *block);

/* Move to front (mtf.c).  Symbols 0 and 1 are the bijective binary digits of a run of zeros, and
 * symbol v + 1 is the rank v >= 1.  `symbols` has room for 2 * n. */
int mtf_encode(const unsigned char *last, int n, uint16_t *symbols);
int mtf_decode(const uint16_t *symbols, int count, unsigned char *last, int n);

/* The coder (coder.c): returns the number of bytes, and of symbols. */
int code_symbols(const uint16_t *symbols, int count, unsigned char *out);
int decode_symbols(const unsigned char *in, uint16_t *symbols, int limit);

#endif
