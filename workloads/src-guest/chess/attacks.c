/* Attack sets.  Sliding pieces use one ray for each direction, cut at the first blocker. */
#include "chess.h"

bitboard knight_attacks[64], king_attacks[64], pawn_attacks[2][64];

/* Directions 0..3 go to higher squares, 4..7 to lower ones. */
enum { NORTH, EAST, NORTH_EAST, NORTH_WEST, SOUTH, WEST, SOUTH_WEST, SOUTH_EAST };
static const int step_file[8] = {0, 1, 1, -1, 0, -1, -1, 1};
static const int step_rank[8] = {1, 0, 1, 1, -1, 0, -1, -1};
static bitboard rays[8][64];

static bitboard square_at(int file, int rank)
{
    return file >= 0 && file < 8 && rank >= 0 && rank < 8 ? bit(rank * 8 + file) : 0;
}

static void init_square(int s)
{
    static const int jump_file[8] = {1, 2, 2, 1, -1, -2, -2, -1};
    static const int jump_rank[8] = {2, 1, -1, -2, -2, -1, 1, 2};
    int file = s & 7, rank = s >> 3;
    for (int d = 0; d < 8; d++) {
        knight_attacks[s] |= square_at(file + jump_file[d], rank + jump_rank[d]);
        king_attacks[s] |= square_at(file + step_file[d], rank + step_rank[d]);
        for (int i = 1; i < 8; i++)
            rays[d][s] |= square_at(file + i * step_file[d], rank + i * step_rank[d]);
    }
    pawn_attacks[WHITE][s] = square_at(file - 1, rank + 1) | square_at(file + 1, rank + 1);
    pawn_attacks[BLACK][s] = square_at(file - 1, rank - 1) | square_at(file + 1, rank - 1);
}

void attacks_init(void)
{
    for (int s = 0; s < 64; s++)
        init_square(s);
}

static inline bitboard ray_up(int direction, int square, bitboard occupied)
{
    bitboard ray = rays[direction][square], blockers = ray & occupied;
    return blockers ? ray ^ rays[direction][lowest(blockers)] : ray;
}

static inline bitboard ray_down(int direction, int square, bitboard occupied)
{
    bitboard ray = rays[direction][square], blockers = ray & occupied;
    return blockers ? ray ^ rays[direction][63 - __builtin_clzll(blockers)] : ray;
}

NOINLINE bitboard bishop_attacks(int square, bitboard occupied)
{
    return ray_up(NORTH_EAST, square, occupied) | ray_up(NORTH_WEST, square, occupied) |
           ray_down(SOUTH_WEST, square, occupied) | ray_down(SOUTH_EAST, square, occupied);
}

NOINLINE bitboard rook_attacks(int square, bitboard occupied)
{
    return ray_up(NORTH, square, occupied) | ray_up(EAST, square, occupied) |
           ray_down(SOUTH, square, occupied) | ray_down(WEST, square, occupied);
}

NOINLINE bitboard queen_attacks(int square, bitboard occupied)
{
    return bishop_attacks(square, occupied) | rook_attacks(square, occupied);
}

int is_attacked(const struct position *p, int square, int by)
{
    bitboard them = p->of_color[by], all = p->of_color[WHITE] | p->of_color[BLACK];
    if (pawn_attacks[!by][square] & them & p->of_piece[PAWN])
        return 1;
    if (knight_attacks[square] & them & p->of_piece[KNIGHT])
        return 1;
    if (king_attacks[square] & them & p->of_piece[KING])
        return 1;
    bitboard diagonal = them & (p->of_piece[BISHOP] | p->of_piece[QUEEN]);
    if (diagonal && (bishop_attacks(square, all) & diagonal))
        return 1;
    bitboard straight = them & (p->of_piece[ROOK] | p->of_piece[QUEEN]);
    return straight && (rook_attacks(square, all) & straight);
}
