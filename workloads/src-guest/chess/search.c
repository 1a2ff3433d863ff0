/* Iterative deepening alpha-beta with null moves, killers, history and quiescence. */
#include "chess.h"

static move killers[MAX_PLY][2];
static uint32_t history[2][64][64];
static long nodes;

static int alpha_beta(const struct position *p, int alpha, int beta, int depth, int ply, int null_allowed);

void search_init(int table_bits)
{
    table_init(table_bits);
    memset(killers, 0, sizeof(killers));
    memset(history, 0, sizeof(history));
}

/* Most valuable victim first, by the least valuable attacker. */
static NOINLINE int capture_score(const struct position *p, move m)
{
    int victim = p->board[move_to(m)];
    int gain = piece_value[victim] + (move_special(m) == EN_PASSANT ? 100 : 0);
    if (move_promotion(m) != NO_PIECE)
        gain += piece_value[move_promotion(m)];
    return gain == 0 ? 0 : 100000 + 10 * gain - p->board[move_from(m)];
}

static NOINLINE void score_moves(const struct position *p, const move *list, int *scores, int count, move hash_move,
                                 int ply)
{
    for (int i = 0; i < count; i++) {
        move m = list[i];
        int capture = capture_score(p, m);
        if (m == hash_move)
            scores[i] = 1000000;
        else if (capture)
            scores[i] = capture;
        else if (m == killers[ply][0])
            scores[i] = 90001;
        else if (m == killers[ply][1])
            scores[i] = 90000;
        else
            scores[i] = (int)(history[p->side][move_from(m)][move_to(m)] & 0xffff);
    }
}

/* Brings the best move that is left to place `at`. */
static NOINLINE move pick_move(move *list, int *scores, int count, int at)
{
    int best = at;
    for (int i = at + 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    move m = list[best];
    int s = scores[best];
    list[best] = list[at];
    scores[best] = scores[at];
    list[at] = m;
    scores[at] = s;
    return m;
}

static NOINLINE int quiescence(const struct position *p, int alpha, int beta, int ply)
{
    move list[MAX_MOVES];
    int scores[MAX_MOVES];
    struct position next;
    nodes++;
    int stand = evaluate(p);
    if (stand >= beta || ply >= MAX_PLY - 1)
        return stand;
    if (stand > alpha)
        alpha = stand;
    int count = generate(p, list, 1);
    score_moves(p, list, scores, count, 0, ply);
    for (int i = 0; i < count; i++) {
        move m = pick_move(list, scores, count, i);
        if (stand + piece_value[p->board[move_to(m)]] + 200 < alpha && move_promotion(m) == NO_PIECE)
            continue;
        if (!position_play(p, m, &next))
            continue;
        int score = -quiescence(&next, -beta, -alpha, ply + 1);
        if (score >= beta)
            return score;
        if (score > alpha)
            alpha = score;
    }
    return alpha;
}

static NOINLINE void note_cutoff(const struct position *p, move m, int depth, int ply)
{
    if (capture_score(p, m))
        return;
    if (killers[ply][0] != m) {
        killers[ply][1] = killers[ply][0];
        killers[ply][0] = m;
    }
    history[p->side][move_from(m)][move_to(m)] += (uint32_t)(depth * depth);
}

static NOINLINE int null_move_fails_high(const struct position *p, int beta, int depth, int ply)
{
    struct position next;
    bitboard pieces = p->of_color[p->side] & ~(p->of_piece[PAWN] | p->of_piece[KING]);
    if (depth < 3 || !pieces)
        return 0;
    position_play_null(p, &next);
    return -alpha_beta(&next, -beta, -beta + 1, depth - 3, ply + 1, 0) >= beta;
}

static int bound_allows(const struct table_entry *e, int alpha, int beta)
{
    return e->bound == BOUND_EXACT || (e->bound == BOUND_LOWER && e->score >= beta) ||
           (e->bound == BOUND_UPPER && e->score <= alpha);
}

static NOINLINE int alpha_beta(const struct position *p, int alpha, int beta, int depth, int ply, int null_allowed)
{
    move list[MAX_MOVES], best_move = 0;
    int scores[MAX_MOVES];
    struct position next;
    if (depth <= 0 || ply >= MAX_PLY - 1)
        return quiescence(p, alpha, beta, ply);
    nodes++;
    struct table_entry *e = table_probe(p->key);
    move hash_move = e ? e->best : 0;
    if (e && ply > 0 && e->depth >= depth && bound_allows(e, alpha, beta))
        return e->score;
    int in_check = is_attacked(p, king_square(p, p->side), !p->side);
    if (in_check)
        depth++;
    else if (null_allowed && null_move_fails_high(p, beta, depth, ply))
        return beta;
    int count = generate(p, list, 0), legal = 0, best = -MATE, start = alpha;
    score_moves(p, list, scores, count, hash_move, ply);
    for (int i = 0; i < count; i++) {
        move m = pick_move(list, scores, count, i);
        if (!position_play(p, m, &next))
            continue;
        int score;
        if (legal++ == 0) {
            score = -alpha_beta(&next, -beta, -alpha, depth - 1, ply + 1, 1);
        } else {
            score = -alpha_beta(&next, -alpha - 1, -alpha, depth - 1, ply + 1, 1);
            if (score > alpha && score < beta)
                score = -alpha_beta(&next, -beta, -alpha, depth - 1, ply + 1, 1);
        }
        if (score > best) {
            best = score;
            best_move = m;
        }
        if (best > alpha)
            alpha = best;
        if (alpha >= beta) {
            note_cutoff(p, m, depth, ply);
            break;
        }
    }
    if (legal == 0)
        return in_check ? -MATE + ply : 0;
    table_store(p->key, best_move, best, depth, best >= beta ? BOUND_LOWER : best > start ? BOUND_EXACT : BOUND_UPPER);
    return best;
}

struct search_result search_position(const struct position *p, int depth)
{
    struct search_result r = {0, 0, 0};
    nodes = 0;
    for (int d = 1; d <= depth; d++) {
        r.score = alpha_beta(p, -MATE, MATE, d, 0, 0);
        struct table_entry *e = table_probe(p->key);
        if (e)
            r.best = e->best;
    }
    r.nodes = nodes;
    return r;
}
