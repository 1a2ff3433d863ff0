/* Minimum-cost flow by the primal network simplex method.
 *
 * A spanning tree is kept with parents, children and node potentials.  An arc outside of the tree
 * whose reduced cost is wrong enters, flow is pushed around the cycle it closes, and an arc that
 * blocks leaves.  Artificial arcs to a root node make the first tree. */
#ifndef NETWORK_H
#define NETWORK_H

#include "rt.h"

struct arc;

struct node {
    int64_t potential;
    long supply;
    struct node *parent, *child, *next, *previous; /* next and previous: siblings */
    struct arc *pred;                              /* the tree arc to the parent */
    int depth, number;
};

enum arc_state { AT_UPPER = -1, IN_TREE = 0, AT_LOWER = 1 };

struct arc {
    struct node *tail, *head;
    long cost, capacity, flow;
    int state;
};

struct network {
    struct node *nodes; /* the root is the last one */
    struct arc *arcs;   /* the artificial ones are the last */
    int node_count, arc_count, real_arcs;
    long pivots, degenerate;
};

/* cost + potential(tail) - potential(head): zero on tree arcs. */
static inline int64_t reduced_cost(const struct arc *a)
{
    return a->cost + a->tail->potential - a->head->potential;
}

/* How much the arc's price is wrong; positive if it may enter. */
static inline int64_t violation(const struct arc *a)
{
    return -a->state * reduced_cost(a);
}

/* Generators (generate.c). */
typedef void generator(struct network *n, struct rng *rng, int size);
generator generate_transport, generate_grid, generate_timetable;

/* Building (network.c). */
void network_alloc(struct network *n, int nodes, int arcs);
void network_add_arc(struct network *n, int tail, int head, long capacity, long cost);
/* Puts back the artificial tree and empties all arcs. */
void network_start(struct network *n);
void network_free(struct network *n);
/* Ends the program if the flow is not feasible and optimal. */
void network_check(const struct network *n);
int64_t network_cost(const struct network *n);

/* Pricing (pricing.c): the arc that enters next, or NULL at the optimum. */
struct pricer;
typedef struct arc *price_rule(struct pricer *p);
struct pricer {
    struct network *network;
    price_rule *rule;
    int position, block;
    struct arc *candidates[64];
    int candidate_count;
    long scanned;
};
price_rule price_first, price_block, price_candidates;
void pricer_init(struct pricer *p, struct network *n, price_rule *rule);

/* The method (simplex.c). */
void network_solve(struct network *n, struct pricer *p);

#endif
