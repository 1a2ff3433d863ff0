/* A chess program in miniature: bitboards, complete move generation, a transposition table and an
 * alpha-beta search with quiescence. */
#ifndef CHESS_H
#define CHESS_H

#include "rt.h"

typedef uint64_t bitboard;

enum piece { PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING, NO_PIECE };
enum color { WHITE, BLACK };
enum { CASTLE_WK = 1, CASTLE_WQ = 2, CASTLE_BK = 4, CASTLE_BQ = 8 };
enum { NO_SQUARE = 64, MAX_MOVES = 256, MAX_PLY = 64, MATE = 30000 };

/* Squares run a1 = 0, b1 = 1, ..., h8 = 63. */
struct position {
    bitboard of_piece[6], of_color[2];
    uint8_t board[64]; /* kind of piece, NO_PIECE if empty */
    int side, castling, en_passant;
    uint64_t key;
};

/* from | to << 6 | promotion << 12 (NO_PIECE if none) | special << 16 */
typedef uint32_t move;
enum special { QUIET, DOUBLE_STEP, EN_PASSANT, CASTLE };
static inline int move_from(move m) { return (int)(m & 63); }
static inline int move_to(move m) { return (int)(m >> 6 & 63); }
static inline int move_promotion(move m) { return (int)(m >> 12 & 7); }
static inline int move_special(move m) { return (int)(m >> 16); }

static inline int lowest(bitboard b) { return __builtin_ctzll(b); }
static inline int count_bits(bitboard b) { return __builtin_popcountll(b); }
static inline bitboard bit(int square) { return UINT64_C(1) << square; }

/* Attacks (attacks.c). */
extern bitboard knight_attacks[64], king_attacks[64], pawn_attacks[2][64];
void attacks_init(void);
bitboard bishop_attacks(int square, bitboard occupied);
bitboard rook_attacks(int square, bitboard occupied);
bitboard queen_attacks(int square, bitboard occupied);
int is_attacked(const struct position *p, int square, int by);

/* Positions (position.c). */
void position_init(void);
void position_parse(struct position *p, const char *fen);
/* Plays a pseudo-legal move; 0 if it leaves the own king attacked. */
int position_play(const struct position *p, move m, struct position *next);
void position_play_null(const struct position *p, struct position *next);
static inline int king_square(const struct position *p, int side)
{
    return lowest(p->of_piece[KING] & p->of_color[side]);
}

/* Move generation (moves.c): pseudo-legal moves; captures and promotions only if asked. */
int generate(const struct position *p, move *list, int captures_only);
long perft(const struct position *p, int depth);

/* Evaluation (evaluate.c), in hundredths of a pawn for the side to move. */
extern const int piece_value[7];
int evaluate(const struct position *p);

/* Search (search.c). */
struct search_result {
    move best;
    int score;
    long nodes;
};
void search_init(int table_bits);
struct search_result search_position(const struct position *p, int depth);

/* Transposition table (table.c). */
enum bound { BOUND_NONE, BOUND_EXACT, BOUND_LOWER, BOUND_UPPER };
struct table_entry {
    uint64_t key;
    move best;
    int16_t score;
    int8_t depth;
    uint8_t bound;
};
extern long table_hits, table_stores;
void table_init(int bits);
struct table_entry *table_probe(uint64_t key);
void table_store(uint64_t key, move best, int score, int depth, enum bound bound);

#endif
