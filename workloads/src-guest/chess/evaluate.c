/* Static evaluation: material, placement, mobility and pawn structure, one function for each kind. */
#include "chess.h"

const int piece_value[7] = {100, 320, 330, 500, 900, 0, 0};

typedef int piece_evaluator(const struct position *p, int color, int square, bitboard all);

/* Distance of a square from the edge, 0..3. */
static inline int centrality(int square)
{
    int file = square & 7, rank = square >> 3;
    int f = file < 4 ? file : 7 - file, r = rank < 4 ? rank : 7 - rank;
    return f < r ? f : r;
}

static NOINLINE int evaluate_pawn(const struct position *p, int color, int square, bitboard all)
{
    (void)all;
    bitboard file = UINT64_C(0x0101010101010101) << (square & 7);
    bitboard own = p->of_piece[PAWN] & p->of_color[color];
    bitboard other = p->of_piece[PAWN] & p->of_color[!color];
    int rank = color == WHITE ? square >> 3 : 7 - (square >> 3);
    int score = 4 * rank + 6 * centrality(square);
    if (count_bits(own & file) > 1)
        score -= 15;
    bitboard sides = (file & UINT64_C(0xfefefefefefefefe)) >> 1 | (file & UINT64_C(0x7f7f7f7f7f7f7f7f)) << 1;
    if (!(own & sides))
        score -= 12;
    bitboard ahead = color == WHITE ? ~UINT64_C(0) << (square | 7) << 1 : bit(square & 56) - 1;
    if (!(other & (file | sides) & ahead))
        score += 10 * rank;
    return score;
}

static NOINLINE int evaluate_knight(const struct position *p, int color, int square, bitboard all)
{
    (void)all;
    return 12 * centrality(square) + 2 * count_bits(knight_attacks[square] & ~p->of_color[color]) - 20;
}

static NOINLINE int evaluate_bishop(const struct position *p, int color, int square, bitboard all)
{
    return 4 * count_bits(bishop_attacks(square, all) & ~p->of_color[color]) - 20;
}

static NOINLINE int evaluate_rook(const struct position *p, int color, int square, bitboard all)
{
    bitboard file = UINT64_C(0x0101010101010101) << (square & 7);
    int open = !(file & p->of_piece[PAWN]) ? 20 : 0;
    return open + 2 * count_bits(rook_attacks(square, all) & ~p->of_color[color]);
}

static NOINLINE int evaluate_queen(const struct position *p, int color, int square, bitboard all)
{
    return count_bits(queen_attacks(square, all) & ~p->of_color[color]);
}

static NOINLINE int evaluate_king(const struct position *p, int color, int square, bitboard all)
{
    bitboard heavy = p->of_piece[QUEEN] & p->of_color[!color];
    int shelter = count_bits(king_attacks[square] & p->of_piece[PAWN] & p->of_color[color]);
    (void)all;
    return heavy ? 10 * shelter - 15 * centrality(square) : 8 * centrality(square);
}

static piece_evaluator *const evaluators[6] = {
    evaluate_pawn, evaluate_knight, evaluate_bishop, evaluate_rook, evaluate_queen, evaluate_king,
};

static NOINLINE int evaluate_side(const struct position *p, int color)
{
    bitboard all = p->of_color[WHITE] | p->of_color[BLACK];
    int score = 0;
    for (int kind = PAWN; kind <= KING; kind++)
        for (bitboard b = p->of_piece[kind] & p->of_color[color]; b; b &= b - 1)
            score += piece_value[kind] + evaluators[kind](p, color, lowest(b), all);
    return score;
}

int evaluate(const struct position *p)
{
    return evaluate_side(p, p->side) - evaluate_side(p, !p->side) + 8;
}
