/* Building a network, its first tree, and the proof that a result is optimal. */
#include "network.h"

#define ARTIFICIAL_COST 1000000

void network_alloc(struct network *n, int nodes, int arcs)
{
    memset(n, 0, sizeof(*n));
    n->node_count = nodes + 1;
    n->nodes = calloc((size_t)nodes + 1, sizeof(struct node));
    n->arcs = calloc((size_t)(arcs + nodes), sizeof(struct arc));
    for (int i = 0; i <= nodes; i++)
        n->nodes[i].number = i;
}

void network_free(struct network *n)
{
    free(n->nodes);
    free(n->arcs);
}

NOINLINE void network_add_arc(struct network *n, int tail, int head, long capacity, long cost)
{
    struct arc *a = &n->arcs[n->arc_count++];
    a->tail = &n->nodes[tail];
    a->head = &n->nodes[head];
    a->capacity = capacity;
    a->cost = cost;
    n->real_arcs = n->arc_count;
}

/* Hangs a node under the root through an artificial arc in the direction of its supply. */
static NOINLINE void hang_under_root(struct network *n, struct node *v)
{
    struct node *root = &n->nodes[n->node_count - 1];
    struct arc *a = &n->arcs[n->arc_count++];
    int leaves = v->supply >= 0;
    a->tail = leaves ? v : root;
    a->head = leaves ? root : v;
    a->cost = ARTIFICIAL_COST;
    a->capacity = INT64_C(1) << 40;
    a->flow = leaves ? v->supply : -v->supply;
    a->state = IN_TREE;
    v->parent = root;
    v->pred = a;
    v->depth = 1;
    v->potential = leaves ? -ARTIFICIAL_COST : ARTIFICIAL_COST;
    v->child = 0;
    v->previous = 0;
    v->next = root->child;
    if (v->next)
        v->next->previous = v;
    root->child = v;
}

void network_start(struct network *n)
{
    struct node *root = &n->nodes[n->node_count - 1];
    n->arc_count = n->real_arcs;
    n->pivots = n->degenerate = 0;
    root->parent = root->child = root->next = root->previous = 0;
    root->pred = 0;
    root->depth = 0;
    root->potential = 0;
    for (int i = 0; i < n->real_arcs; i++) {
        n->arcs[i].flow = 0;
        n->arcs[i].state = AT_LOWER;
    }
    for (int i = 0; i < n->node_count - 1; i++)
        hang_under_root(n, &n->nodes[i]);
}

int64_t network_cost(const struct network *n)
{
    int64_t sum = 0;
    for (int i = 0; i < n->arc_count; i++)
        sum += (int64_t)n->arcs[i].flow * n->arcs[i].cost;
    return sum;
}

static NOINLINE void check_arc(const struct arc *a)
{
    if (a->flow < 0 || a->flow > a->capacity)
        rt_fail("a flow is outside of its bounds");
    if (violation(a) > 0)
        rt_fail("an arc could still enter");
    if (a->state == IN_TREE && reduced_cost(a) != 0)
        rt_fail("a tree arc has a reduced cost");
    if ((a->state == AT_LOWER && a->flow != 0) || (a->state == AT_UPPER && a->flow != a->capacity))
        rt_fail("a flow is not at its bound");
}

void network_check(const struct network *n)
{
    long *balance = calloc((size_t)n->node_count, sizeof(long));
    for (int i = 0; i < n->arc_count; i++) {
        const struct arc *a = &n->arcs[i];
        check_arc(a);
        if (i >= n->real_arcs && a->flow != 0)
            rt_fail("the supplies cannot be met");
        balance[a->tail->number] += a->flow;
        balance[a->head->number] -= a->flow;
    }
    for (int i = 0; i < n->node_count; i++)
        if (balance[i] != n->nodes[i].supply)
            rt_fail("a node is not in balance");
    free(balance);
}
