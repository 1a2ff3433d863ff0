/* chess: counts move trees against known values, then searches a set of positions. */
#include "chess.h"

struct counted {
    const char *fen;
    int depth;
    long nodes;
};

/* Published perft values: the start, the position known as Kiwipete, and an endgame. */
static const struct counted counted[] = {
    {"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", 3, 8902},
    {"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -", 2, 2039},
    {"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -", 3, 2812},
    {"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", 4, 197281},
    {"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -", 3, 97862},
    {"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -", 4, 43238},
};

/* The same positions, less deep. */
static const struct counted counted_small[] = {
    {"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", 2, 400},
    {"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -", 2, 2039},
    {"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -", 2, 191},
};

static const char *const problems[] = {
    "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq -",
    "r2q1rk1/pp2bppp/2n1bn2/2pp4/3P4/2N1PN2/PPQ1BPPP/R1B2RK1 w - -",
    "2r3k1/pp3ppp/4p3/3p4/3P4/1P2P3/P4PPP/2R3K1 w - -",
    "8/5pk1/6p1/7p/5P1P/6P1/5K2/8 b - -",
    "r1b1k2r/ppppqppp/2n2n2/1B2p3/1b2P3/2NP1N2/PPP2PPP/R1BQK2R w KQkq -",
};

/* How deep a small run searches each problem; from depth 3 on it tries null moves. */
static const int depths_small[ARRAY_LEN(problems)] = {2, 1, 4, 5, 2};

static void move_text(move m, char *out)
{
    out[0] = (char)('a' + (move_from(m) & 7));
    out[1] = (char)('1' + (move_from(m) >> 3));
    out[2] = (char)('a' + (move_to(m) & 7));
    out[3] = (char)('1' + (move_to(m) >> 3));
    out[4] = 0;
    if (move_promotion(m) != NO_PIECE) {
        out[4] = "pnbrqk"[move_promotion(m)];
        out[5] = 0;
    }
}

static NOINLINE void check_counts(const struct counted *counted, size_t count)
{
    struct position p;
    for (size_t i = 0; i < count; i++) {
        position_parse(&p, counted[i].fen);
        long nodes = perft(&p, counted[i].depth);
        printf("perft %d depth %d nodes %ld\n", (int)i, counted[i].depth, nodes);
        if (nodes != counted[i].nodes)
            rt_fail("perft differs from the published value");
    }
}

static NOINLINE void solve(int index, int depth, int table_bits)
{
    struct position p;
    char text[8];
    search_init(table_bits);
    position_parse(&p, problems[index]);
    struct search_result r = search_position(&p, depth);
    move_text(r.best, text);
    printf("search %d depth %d best %s score %d nodes %ld hits %ld stores %ld\n", index, depth, text, r.score, r.nodes,
           table_hits, table_stores);
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    attacks_init();
    position_init();
    if (large)
        check_counts(counted, ARRAY_LEN(counted));
    else
        check_counts(counted_small, ARRAY_LEN(counted_small));
    for (int i = 0; i < (int)ARRAY_LEN(problems); i++)
        large ? solve(i, 5, 15) : solve(i, depths_small[i], 13);
    return 0;
}
