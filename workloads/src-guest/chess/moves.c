/* Pseudo-legal move generation, one generator for each kind of piece, and perft. */
#include "chess.h"

#define FILE_A UINT64_C(0x0101010101010101)
#define FILE_H UINT64_C(0x8080808080808080)
#define RANK_1_8 UINT64_C(0xff000000000000ff)
#define RANK_3 UINT64_C(0x0000000000ff0000)
#define RANK_6 UINT64_C(0x0000ff0000000000)

/* The moves of one call: where they go and which squares they may reach. */
struct move_list {
    move *end;
    bitboard own, other, all, targets;
};

typedef void piece_generator(const struct position *p, struct move_list *list);

static inline void put_move(struct move_list *list, int from, int to, int promotion, int special)
{
    *list->end++ = (move)from | (move)to << 6 | (move)promotion << 12 | (move)special << 16;
}

static NOINLINE void put_targets(struct move_list *list, int from, bitboard to)
{
    for (; to; to &= to - 1)
        put_move(list, from, lowest(to), NO_PIECE, QUIET);
}

static NOINLINE void put_pawn_moves(struct move_list *list, bitboard to, int step, int special)
{
    for (; to; to &= to - 1) {
        int square = lowest(to);
        if (bit(square) & RANK_1_8) {
            for (int kind = QUEEN; kind >= KNIGHT; kind--)
                put_move(list, square - step, square, kind, QUIET);
        } else {
            put_move(list, square - step, square, NO_PIECE, special);
        }
    }
}

static inline bitboard shift(bitboard b, int by)
{
    return by > 0 ? b << by : b >> -by;
}

static NOINLINE void pawn_moves(const struct position *p, struct move_list *list)
{
    int white = p->side == WHITE, up = white ? 8 : -8;
    int captures_only = (list->targets & ~list->other) == 0;
    bitboard pawns = p->of_piece[PAWN] & list->own;
    bitboard one = shift(pawns, up) & ~list->all;
    bitboard two = shift(one & (white ? RANK_3 : RANK_6), up) & ~list->all;
    put_pawn_moves(list, captures_only ? one & RANK_1_8 : one, up, QUIET);
    if (!captures_only)
        put_pawn_moves(list, two, 2 * up, DOUBLE_STEP);
    put_pawn_moves(list, shift(pawns & ~FILE_A, up - 1) & list->other, up - 1, QUIET);
    put_pawn_moves(list, shift(pawns & ~FILE_H, up + 1) & list->other, up + 1, QUIET);
    if (p->en_passant != NO_SQUARE) {
        bitboard from = pawn_attacks[!p->side][p->en_passant] & pawns;
        for (; from; from &= from - 1)
            put_move(list, lowest(from), p->en_passant, NO_PIECE, EN_PASSANT);
    }
}

static NOINLINE void knight_moves(const struct position *p, struct move_list *list)
{
    for (bitboard b = p->of_piece[KNIGHT] & list->own; b; b &= b - 1)
        put_targets(list, lowest(b), knight_attacks[lowest(b)] & list->targets);
}

static NOINLINE void bishop_moves(const struct position *p, struct move_list *list)
{
    for (bitboard b = p->of_piece[BISHOP] & list->own; b; b &= b - 1)
        put_targets(list, lowest(b), bishop_attacks(lowest(b), list->all) & list->targets);
}

static NOINLINE void rook_moves(const struct position *p, struct move_list *list)
{
    for (bitboard b = p->of_piece[ROOK] & list->own; b; b &= b - 1)
        put_targets(list, lowest(b), rook_attacks(lowest(b), list->all) & list->targets);
}

static NOINLINE void queen_moves(const struct position *p, struct move_list *list)
{
    for (bitboard b = p->of_piece[QUEEN] & list->own; b; b &= b - 1)
        put_targets(list, lowest(b), queen_attacks(lowest(b), list->all) & list->targets);
}

/* The squares between must be empty and those the king crosses not attacked. */
static NOINLINE void castling_moves(const struct position *p, struct move_list *list, int king)
{
    int white = p->side == WHITE;
    bitboard short_gap = bit(king + 1) | bit(king + 2);
    bitboard long_gap = bit(king - 1) | bit(king - 2) | bit(king - 3);
    if (is_attacked(p, king, !p->side))
        return;
    if ((p->castling & (white ? CASTLE_WK : CASTLE_BK)) && !(list->all & short_gap) &&
        !is_attacked(p, king + 1, !p->side))
        put_move(list, king, king + 2, NO_PIECE, CASTLE);
    if ((p->castling & (white ? CASTLE_WQ : CASTLE_BQ)) && !(list->all & long_gap) &&
        !is_attacked(p, king - 1, !p->side))
        put_move(list, king, king - 2, NO_PIECE, CASTLE);
}

static NOINLINE void king_moves(const struct position *p, struct move_list *list)
{
    int king = king_square(p, p->side), rights = p->side == WHITE ? 3 : 12;
    put_targets(list, king, king_attacks[king] & list->targets);
    if ((p->castling & rights) && (list->targets & ~list->other))
        castling_moves(p, list, king);
}

static piece_generator *const generators[6] = {
    pawn_moves, knight_moves, bishop_moves, rook_moves, queen_moves, king_moves,
};

int generate(const struct position *p, move *moves, int captures_only)
{
    struct move_list list = {moves, p->of_color[p->side], p->of_color[!p->side], 0, 0};
    list.all = list.own | list.other;
    list.targets = captures_only ? list.other : ~list.own;
    for (int kind = PAWN; kind <= KING; kind++)
        generators[kind](p, &list);
    return (int)(list.end - moves);
}

long perft(const struct position *p, int depth)
{
    move list[MAX_MOVES];
    struct position next;
    long nodes = 0;
    int count = generate(p, list, 0);
    for (int i = 0; i < count; i++)
        if (position_play(p, list[i], &next))
            nodes += depth > 1 ? perft(&next, depth - 1) : 1;
    return nodes;
}
