/* Networks of three kinds.  All are connected by arcs that can carry everything at a high price. */
#include "network.h"

static NOINLINE void add_supply(struct network *n, int from, int to, long amount)
{
    n->nodes[from].supply += amount;
    n->nodes[to].supply -= amount;
}

static NOINLINE void add_ring(struct network *n, int nodes)
{
    for (int i = 0; i < nodes; i++)
        network_add_arc(n, i, (i + 1) % nodes, 1000000, 3000);
}

/* Sources and sinks with a random choice of direct ways between them. */
void generate_transport(struct network *n, struct rng *rng, int size)
{
    int degree = 12;
    network_alloc(n, 2 * size, size * degree + 2 * size);
    for (int i = 0; i < size; i++)
        for (int k = 0; k < degree; k++) {
            int to = size + (int)rng_below(rng, (uint32_t)size);
            long capacity = 5 + (long)rng_below(rng, 40);
            network_add_arc(n, i, to, capacity, 1 + (long)rng_below(rng, 200));
        }
    add_ring(n, 2 * size);
    for (int i = 0; i < size; i++) {
        int to = size + (int)rng_below(rng, (uint32_t)size);
        add_supply(n, i, to, 10 + (long)rng_below(rng, 30));
    }
}

static NOINLINE void add_street(struct network *n, struct rng *rng, int tail, int head)
{
    long capacity = 10 + (long)rng_below(rng, 60);
    network_add_arc(n, tail, head, capacity, 5 + (long)rng_below(rng, 50));
}

/* A street grid whose arcs lead to the four neighbours. */
void generate_grid(struct network *n, struct rng *rng, int size)
{
    int side = 1;
    while (side * side < 2 * size)
        side++;
    int nodes = side * side;
    network_alloc(n, nodes, 5 * nodes);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int at = y * side + x;
            int right = y * side + (x + 1) % side, down = (y + 1) % side * side + x;
            for (int k = 0; k < 2; k++) {
                int to = k ? down : right;
                add_street(n, rng, at, to);
                add_street(n, rng, to, at);
            }
        }
    add_ring(n, nodes);
    for (int i = 0; i < nodes / 2; i++) {
        int from = (int)rng_below(rng, (uint32_t)nodes), to = (int)rng_below(rng, (uint32_t)nodes);
        add_supply(n, from, to, 1 + (long)rng_below(rng, 10));
    }
}

/* Vehicles for timetabled trips: each trip is two nodes, and trips follow on earlier ones. */
void generate_timetable(struct network *n, struct rng *rng, int size)
{
    int follow = 10, depot = 2 * size;
    network_alloc(n, 2 * size + 1, size * (follow + 2) + 2 * size + 1);
    for (int i = 0; i < size; i++) {
        int start = i, end = size + i;
        add_supply(n, end, start, 1); /* the trip itself moves one vehicle from start to end */
        network_add_arc(n, depot, start, 1, 500 + (long)rng_below(rng, 100));
        network_add_arc(n, end, depot, 1, 500 + (long)rng_below(rng, 100));
        for (int k = 0; k < follow; k++) {
            int later = i + 1 + (int)rng_below(rng, 60);
            if (later < size)
                network_add_arc(n, end, later, 1, 10 + 3 * (later - i) + (long)rng_below(rng, 80));
        }
    }
    add_ring(n, 2 * size + 1);
}
