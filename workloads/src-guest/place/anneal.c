/* Simulated annealing: swaps of two places within a window that shrinks with the acceptance. */
#include "place.h"

enum { MAX_AFFECTED = 128 };

struct annealer {
    struct circuit *circuit;
    struct rng *rng;
    net_cost *cost;
    double temperature, current;
    int window;
    int affected[MAX_AFFECTED], affected_count;
    double new_costs[MAX_AFFECTED];
    uint32_t *stamp, stamp_now; /* marks the nets that a move has met */
    struct anneal_result result;
};

/* By the series on x / 256 and squaring eight times. */
NOINLINE double exponential(double x)
{
    if (x < -40)
        return 0;
    double y = x / 256.0;
    double r = 1 + y * (1 + y * (1.0 / 2 + y * (1.0 / 6 + y * (1.0 / 24))));
    for (int i = 0; i < 8; i++)
        r *= r;
    return r;
}

static NOINLINE void note_nets(struct annealer *a, int cell)
{
    if (cell < 0)
        return;
    const struct cell *c = &a->circuit->cell[cell];
    for (int i = 0; i < c->net_count; i++) {
        int net = c->nets[i];
        if (a->stamp[net] == a->stamp_now || a->affected_count == MAX_AFFECTED)
            continue;
        a->stamp[net] = a->stamp_now;
        a->affected[a->affected_count++] = net;
    }
}

static NOINLINE void swap_places(struct circuit *c, int p, int q)
{
    int a = c->at[p], b = c->at[q];
    c->at[p] = b;
    c->at[q] = a;
    if (a >= 0) {
        c->cell[a].x = q % c->side;
        c->cell[a].y = q / c->side;
    }
    if (b >= 0) {
        c->cell[b].x = p % c->side;
        c->cell[b].y = p / c->side;
    }
}

static NOINLINE double cost_change(struct annealer *a)
{
    double change = 0;
    for (int i = 0; i < a->affected_count; i++) {
        struct net *n = &a->circuit->net[a->affected[i]];
        a->new_costs[i] = a->cost(a->circuit, n);
        change += a->new_costs[i] - n->cost;
    }
    return change;
}

static NOINLINE int accept(struct annealer *a, double change)
{
    if (change <= 0)
        return 1;
    double chance = exponential(-change / a->temperature);
    int yes = (double)rng_below(a->rng, 1u << 24) < chance * (double)(1u << 24);
    a->result.uphill += yes;
    return yes;
}

static int clamp(int v, int limit)
{
    return v < 0 ? 0 : v >= limit ? limit - 1 : v;
}

static NOINLINE int pick_partner(struct annealer *a, const struct cell *cell)
{
    int span = 2 * a->window + 1, side = a->circuit->side;
    int x = clamp(cell->x - a->window + (int)rng_below(a->rng, (uint32_t)span), side);
    int y = clamp(cell->y - a->window + (int)rng_below(a->rng, (uint32_t)span), side);
    return y * side + x;
}

/* Tries one swap; returns 1 if it was kept. */
static NOINLINE int try_move(struct annealer *a)
{
    struct circuit *c = a->circuit;
    int cell = (int)rng_below(a->rng, (uint32_t)c->cells);
    int from = c->cell[cell].y * c->side + c->cell[cell].x, to = pick_partner(a, &c->cell[cell]);
    if (from == to)
        return 0;
    a->affected_count = 0;
    a->stamp_now++;
    note_nets(a, cell);
    note_nets(a, c->at[to]);
    swap_places(c, from, to);
    double change = cost_change(a);
    if (!accept(a, change)) {
        swap_places(c, from, to);
        return 0;
    }
    for (int i = 0; i < a->affected_count; i++)
        c->net[a->affected[i]].cost = a->new_costs[i];
    a->current += change;
    return 1;
}

/* The first temperature: a multiple of the mean change of random moves. */
static NOINLINE double start_temperature(struct annealer *a)
{
    double sum = 0;
    int moves = 200;
    a->temperature = 1e12;
    for (int i = 0; i < moves; i++) {
        double before = a->current;
        try_move(a);
        double change = a->current - before;
        sum += change < 0 ? -change : change;
    }
    return 3 * sum / moves;
}

static NOINLINE void cool(struct annealer *a, double accepted)
{
    double factor = accepted > 0.96 ? 0.5 : accepted > 0.8 ? 0.85 : accepted > 0.15 ? 0.92 : 0.7;
    a->temperature *= factor;
    int window = (int)((double)a->window * (0.56 + accepted));
    a->window = window < 1 ? 1 : window > a->circuit->side ? a->circuit->side : window;
}

struct anneal_result anneal(struct circuit *c, struct rng *rng, net_cost *cost, int moves_per_cell)
{
    struct annealer *a = calloc(1, sizeof(*a));
    a->circuit = c;
    a->rng = rng;
    a->cost = cost;
    a->window = c->side;
    a->stamp = calloc((size_t)c->nets, sizeof(*a->stamp));
    for (int i = 0; i < c->nets; i++)
        c->net[i].cost = cost(c, &c->net[i]);
    a->result.first = a->current = total_cost(c, cost);
    a->temperature = start_temperature(a);
    long moves = (long)moves_per_cell * c->cells;
    while (a->temperature > 0.005 * a->current / c->nets) {
        long kept = 0;
        for (long i = 0; i < moves; i++)
            kept += try_move(a);
        a->result.tried += moves;
        a->result.accepted += kept;
        a->result.steps++;
        cool(a, (double)kept / (double)moves);
    }
    struct anneal_result result = a->result;
    result.last = total_cost(c, cost);
    double drift = result.last - a->current;
    if (drift > 0.001 || drift < -0.001)
        rt_fail("the running cost is wrong");
    free(a->stamp);
    free(a);
    return result;
}
