/* Positions: reading them, playing moves by copy, and their hash keys. */
#include "chess.h"

static uint64_t piece_keys[2][6][64], castling_keys[16], en_passant_keys[65], side_key;
static uint8_t castling_kept[64]; /* rights that survive a move from or to the square */

void position_init(void)
{
    struct rng rng;
    rng_seed(&rng, 64);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 6; k++)
            for (int s = 0; s < 64; s++)
                piece_keys[c][k][s] = rng_next(&rng);
    for (int i = 0; i < 16; i++)
        castling_keys[i] = rng_next(&rng);
    for (int i = 0; i < 64; i++)
        en_passant_keys[i] = rng_next(&rng);
    side_key = rng_next(&rng);
    memset(castling_kept, 15, sizeof(castling_kept));
    castling_kept[0] = 15 & ~CASTLE_WQ;
    castling_kept[7] = 15 & ~CASTLE_WK;
    castling_kept[4] = 15 & ~(CASTLE_WK | CASTLE_WQ);
    castling_kept[56] = 15 & ~CASTLE_BQ;
    castling_kept[63] = 15 & ~CASTLE_BK;
    castling_kept[60] = 15 & ~(CASTLE_BK | CASTLE_BQ);
}

static NOINLINE void add_piece(struct position *p, int color, int kind, int square)
{
    p->of_piece[kind] |= bit(square);
    p->of_color[color] |= bit(square);
    p->board[square] = (uint8_t)kind;
    p->key ^= piece_keys[color][kind][square];
}

static NOINLINE void remove_piece(struct position *p, int color, int kind, int square)
{
    p->of_piece[kind] &= ~bit(square);
    p->of_color[color] &= ~bit(square);
    p->board[square] = NO_PIECE;
    p->key ^= piece_keys[color][kind][square];
}

static void set_en_passant(struct position *p, int square)
{
    p->key ^= en_passant_keys[p->en_passant] ^ en_passant_keys[square];
    p->en_passant = square;
}

static int kind_of_letter(char letter)
{
    static const char letters[] = "pnbrqk";
    for (int k = 0; k < 6; k++)
        if ((letter | 32) == letters[k])
            return k;
    rt_fail("bad piece letter");
}

void position_parse(struct position *p, const char *fen)
{
    memset(p, 0, sizeof(*p));
    memset(p->board, NO_PIECE, sizeof(p->board));
    p->en_passant = NO_SQUARE;
    int square = 56;
    for (; *fen && *fen != ' '; fen++) {
        if (*fen == '/')
            square -= 16;
        else if (*fen >= '1' && *fen <= '8')
            square += *fen - '0';
        else
            add_piece(p, *fen >= 'a' ? BLACK : WHITE, kind_of_letter(*fen), square++);
    }
    if (*++fen == 'b') {
        p->side = BLACK;
        p->key ^= side_key;
    }
    for (fen += 2; *fen && *fen != ' '; fen++)
        p->castling |= *fen == 'K' ? CASTLE_WK : *fen == 'Q' ? CASTLE_WQ : *fen == 'k' ? CASTLE_BK : *fen == 'q' ? CASTLE_BQ : 0;
    p->key ^= castling_keys[p->castling];
    if (*fen == ' ' && fen[1] >= 'a' && fen[1] <= 'h')
        set_en_passant(p, (fen[2] - '1') * 8 + (fen[1] - 'a'));
}

static void change_side(struct position *p)
{
    p->side = !p->side;
    p->key ^= side_key;
}

static NOINLINE void move_castling_rook(struct position *p, int side, int king_to)
{
    int rook_from = (king_to & 7) == 6 ? king_to + 1 : king_to - 2;
    int rook_to = (king_to & 7) == 6 ? king_to - 1 : king_to + 1;
    remove_piece(p, side, ROOK, rook_from);
    add_piece(p, side, ROOK, rook_to);
}

int position_play(const struct position *p, move m, struct position *next)
{
    int from = move_from(m), to = move_to(m), side = p->side, kind = p->board[from];
    *next = *p;
    if (next->board[to] != NO_PIECE)
        remove_piece(next, !side, next->board[to], to);
    else if (move_special(m) == EN_PASSANT)
        remove_piece(next, !side, PAWN, to ^ 8);
    remove_piece(next, side, kind, from);
    add_piece(next, side, move_promotion(m) != NO_PIECE ? move_promotion(m) : kind, to);
    if (move_special(m) == CASTLE)
        move_castling_rook(next, side, to);
    int rights = p->castling & castling_kept[from] & castling_kept[to];
    if (rights != p->castling) {
        next->key ^= castling_keys[p->castling] ^ castling_keys[rights];
        next->castling = rights;
    }
    set_en_passant(next, move_special(m) == DOUBLE_STEP ? (from + to) / 2 : NO_SQUARE);
    change_side(next);
    return !is_attacked(next, king_square(next, side), !side);
}

void position_play_null(const struct position *p, struct position *next)
{
    *next = *p;
    set_en_passant(next, NO_SQUARE);
    change_side(next);
}
