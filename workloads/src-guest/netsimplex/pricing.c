/* Three rules for the entering arc. */
#include "network.h"

void pricer_init(struct pricer *p, struct network *n, price_rule *rule)
{
    memset(p, 0, sizeof(*p));
    p->network = n;
    p->rule = rule;
    p->block = 16;
    while (p->block * p->block < n->arc_count)
        p->block++;
}

static struct arc *next_arc(struct pricer *p)
{
    struct arc *a = &p->network->arcs[p->position];
    if (++p->position == p->network->arc_count)
        p->position = 0;
    p->scanned++;
    return a;
}

/* The first arc that may enter, going round. */
NOINLINE struct arc *price_first(struct pricer *p)
{
    for (int i = 0; i < p->network->arc_count; i++) {
        struct arc *a = next_arc(p);
        if (violation(a) > 0)
            return a;
    }
    return 0;
}

/* The best arc of the first block that has any. */
NOINLINE struct arc *price_block(struct pricer *p)
{
    struct arc *best = 0;
    int64_t most = 0;
    int left = p->block;
    for (int i = 0; i < p->network->arc_count; i++) {
        struct arc *a = next_arc(p);
        int64_t v = violation(a);
        if (v > most) {
            most = v;
            best = a;
        }
        if (--left == 0) {
            if (best)
                return best;
            left = p->block;
        }
    }
    return best;
}

static NOINLINE void refill(struct pricer *p)
{
    int limit = (int)ARRAY_LEN(p->candidates);
    for (int i = 0; i < p->network->arc_count && p->candidate_count < limit; i++) {
        struct arc *a = next_arc(p);
        if (violation(a) > 0)
            p->candidates[p->candidate_count++] = a;
    }
}

static NOINLINE struct arc *best_candidate(struct pricer *p)
{
    struct arc *best = 0;
    int64_t most = 0;
    for (int i = 0; i < p->candidate_count;) {
        int64_t v = violation(p->candidates[i]);
        p->scanned++;
        if (v <= 0) {
            p->candidates[i] = p->candidates[--p->candidate_count];
            continue;
        }
        if (v > most) {
            most = v;
            best = p->candidates[i];
        }
        i++;
    }
    return best;
}

/* A list of arcs that could enter, priced again before each pivot and refilled when it is empty. */
NOINLINE struct arc *price_candidates(struct pricer *p)
{
    struct arc *best = best_candidate(p);
    if (best)
        return best;
    refill(p);
    return best_candidate(p);
}
