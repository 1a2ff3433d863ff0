/* LZ77 compression: a match finder with hash chains, three parsing strategies and canonical Huffman
 * codes, framed with a CRC. */
#ifndef LZ_H
#define LZ_H

#include "rt.h"

#define WINDOW (32 * 1024)
#define MIN_MATCH 4
#define MAX_MATCH 258
/* Literals 0..255, the end mark, then the buckets of match lengths. */
#define END_MARK 256
#define LITERAL_SYMBOLS 288
#define DISTANCE_SYMBOLS 32
#define MAX_CODE_LENGTH 15

struct match {
    int length, distance;
};

/* A literal has distance 0 and its byte in `length`. */
struct token {
    uint16_t length, distance;
};

/* The match finder (match.c). */
struct finder;
struct finder *finder_new(const unsigned char *data, int n);
void finder_free(struct finder *f);
void finder_insert(struct finder *f, int at);
/* The longest match at `at`, trying at most `effort` candidates; length 0 if there is none. */
struct match finder_search(struct finder *f, int at, int effort);

/* Parsing (parse.c): fills tokens and returns their number. */
typedef int parser(struct finder *f, const unsigned char *data, int n, struct token *tokens);
struct strategy {
    const char *name;
    parser *parse;
};
extern const struct strategy strategies[];
extern const int strategy_count;

/* Huffman codes (huffman.c). */
struct code {
    uint8_t length[LITERAL_SYMBOLS];
    uint16_t bits[LITERAL_SYMBOLS]; /* reversed, so that they are written lowest bit first */
    uint16_t first[MAX_CODE_LENGTH + 2], offset[MAX_CODE_LENGTH + 2];
    uint16_t sorted[LITERAL_SYMBOLS];
};
void code_build(struct code *c, const uint32_t *counts, int symbols);
/* Completes a code whose lengths are set. */
void code_assign(struct code *c, int symbols);

/* Bits (bits.c). */
struct bit_writer {
    unsigned char *out;
    uint64_t held;
    int count;
};
struct bit_reader {
    const unsigned char *in;
    uint64_t held;
    int count;
};
void put_bits(struct bit_writer *w, uint32_t value, int count);
unsigned char *finish_bits(struct bit_writer *w);
uint32_t get_bits(struct bit_reader *r, int count);
int get_symbol(struct bit_reader *r, const struct code *c);

/* Blocks (block.c): tokens to bytes and bytes to data. */
int write_block(const struct token *tokens, int count, unsigned char *out);
int read_block(const unsigned char *in, unsigned char *data, int limit);

uint32_t crc32(const unsigned char *data, int n);

#endif
