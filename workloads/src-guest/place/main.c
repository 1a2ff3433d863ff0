/* place: anneals generated circuits under three cost models and routes the results. */
#include "place.h"

struct model {
    const char *name;
    net_cost *cost;
};

static const struct model models[] = {
    {"box", cost_bounding_box},
    {"star", cost_star},
    {"congested", cost_congested},
};

/* Of the circuit of each model, in cells. */
static const int sides_small[ARRAY_LEN(models)] = {6, 5, 6};

/* Costs are printed in thousandths. */
static long thousandths(double v)
{
    return (long)(v * 1000.0 + 0.5);
}

static NOINLINE uint64_t placement_sum(const struct circuit *c)
{
    return checksum_bytes(CHECKSUM_START, c->at, (size_t)(c->side * c->side) * sizeof(int));
}

static NOINLINE void place_and_route(const struct model *m, struct rng *rng, int side, int effort, int capacity)
{
    struct circuit c;
    circuit_generate(&c, rng, side, 80);
    struct anneal_result a = anneal(&c, rng, m->cost, effort);
    circuit_check(&c);
    printf("%-9s cells %d nets %d cost %ld to %ld in %d steps\n", m->name, c.cells, c.nets, thousandths(a.first),
           thousandths(a.last), a.steps);
    printf("  tried %ld accepted %ld uphill %ld placement %016lx\n", a.tried, a.accepted, a.uphill,
           (unsigned long)placement_sum(&c));
    struct route_result r = route(&c, capacity, 24);
    printf("  routed in %d rounds overused %d wires %ld pops %ld sum %016lx\n", r.rounds, r.overused, r.wires, r.pops,
           (unsigned long)r.sum);
    circuit_free(&c);
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    struct rng rng;
    rng_seed(&rng, 1983);
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        large ? place_and_route(&models[i], &rng, 20, 6, 11) : place_and_route(&models[i], &rng, sides_small[i], 1, 10);
    if (rt_live_blocks() != 0)
        rt_fail("blocks leaked");
    return 0;
}
