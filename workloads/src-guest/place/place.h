/* Placement of a circuit by simulated annealing, then routing by negotiated congestion. */
#ifndef PLACE_H
#define PLACE_H

#include "rt.h"

enum { MAX_PINS = 8 };

struct net {
    int pins[MAX_PINS]; /* cells; the first one drives */
    int pin_count;
    double cost;
    int weight;
};

struct cell {
    int x, y;
    int *nets;
    int net_count;
};

struct circuit {
    int side, cells, nets; /* the grid is side * side */
    struct cell *cell;
    struct net *net;
    int *at; /* cell at y * side + x, -1 if empty */
};

/* Circuits (circuit.c). */
void circuit_generate(struct circuit *c, struct rng *rng, int side, int fill_percent);
void circuit_free(struct circuit *c);
void circuit_check(const struct circuit *c);

/* Cost models (cost.c). */
typedef double net_cost(const struct circuit *c, const struct net *n);
net_cost cost_bounding_box, cost_star, cost_congested;
double total_cost(const struct circuit *c, net_cost *cost);

/* Annealing (anneal.c). */
struct anneal_result {
    double first, last;
    long tried, accepted, uphill;
    int steps;
};
struct anneal_result anneal(struct circuit *c, struct rng *rng, net_cost *cost, int moves_per_cell);
/* e to the power x for x <= 0. */
double exponential(double x);

/* Routing (route.c). */
struct route_result {
    int rounds, overused;
    long wires, pops;
    uint64_t sum;
};
struct route_result route(const struct circuit *c, int capacity, int max_rounds);

/* A heap of grid points by estimated cost (heap.c). */
struct heap_item {
    double key;
    int point;
};
struct heap {
    struct heap_item *items;
    int size, limit;
};
void heap_init(struct heap *h, int limit);
void heap_push(struct heap *h, double key, int point);
struct heap_item heap_pop(struct heap *h);

#endif
