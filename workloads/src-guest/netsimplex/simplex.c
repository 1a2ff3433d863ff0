/* Pivots. */
#include "network.h"

/* What a pivot has found out about the cycle. */
struct cycle {
    struct arc *entering;
    struct node *first, *second, *join; /* flow is pushed from first to second */
    struct node *leaving;               /* the lower end of the arc that leaves, NULL if none does */
    int leaves_on_first;
    long amount;
};

static NOINLINE struct node *find_join(struct node *a, struct node *b)
{
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

/* Room on the tree arc of v for flow towards the parent, or away from it. */
static inline long room_up(const struct node *v)
{
    return v->pred->tail == v ? v->pred->capacity - v->pred->flow : v->pred->flow;
}

static inline long room_down(const struct node *v)
{
    return v->pred->tail == v ? v->pred->flow : v->pred->capacity - v->pred->flow;
}

/* Ties go to the arc nearest to the join on the second side, which keeps the tree strongly feasible. */
static NOINLINE void find_leaving(struct cycle *c)
{
    struct arc *e = c->entering;
    c->amount = e->capacity;
    c->leaving = 0;
    for (struct node *v = c->first; v != c->join; v = v->parent) {
        long room = room_down(v);
        if (room < c->amount) {
            c->amount = room;
            c->leaving = v;
            c->leaves_on_first = 1;
        }
    }
    for (struct node *v = c->second; v != c->join; v = v->parent) {
        long room = room_up(v);
        if (room <= c->amount) {
            c->amount = room;
            c->leaving = v;
            c->leaves_on_first = 0;
        }
    }
}

static NOINLINE void push_flow(struct cycle *c)
{
    struct arc *e = c->entering;
    e->flow += e->state * c->amount;
    for (struct node *v = c->first; v != c->join; v = v->parent)
        v->pred->flow += v->pred->tail == v ? -c->amount : c->amount;
    for (struct node *v = c->second; v != c->join; v = v->parent)
        v->pred->flow += v->pred->tail == v ? c->amount : -c->amount;
}

static NOINLINE void unlink_node(struct node *v)
{
    if (v->previous)
        v->previous->next = v->next;
    else
        v->parent->child = v->next;
    if (v->next)
        v->next->previous = v->previous;
}

static NOINLINE void link_node(struct node *v, struct node *parent, struct arc *pred)
{
    v->parent = parent;
    v->pred = pred;
    v->previous = 0;
    v->next = parent->child;
    if (v->next)
        v->next->previous = v;
    parent->child = v;
}

/* Turns the path from `low` up to `top` around, so that `low` hangs under `parent`. */
static NOINLINE void turn_path(struct node *low, struct node *top, struct node *parent, struct arc *pred)
{
    struct node *v = low;
    for (;;) {
        struct node *above = v->parent;
        struct arc *arc_above = v->pred;
        unlink_node(v);
        link_node(v, parent, pred);
        if (v == top)
            return;
        parent = v;
        pred = arc_above;
        v = above;
    }
}

/* New depths and potentials below and at `top`, walking the children without recursion. */
static NOINLINE long refresh_subtree(struct node *top)
{
    struct node *v = top;
    long visited = 0;
    for (;;) {
        v->depth = v->parent->depth + 1;
        v->potential = v->pred->tail == v ? v->parent->potential - v->pred->cost : v->parent->potential + v->pred->cost;
        visited++;
        if (v->child) {
            v = v->child;
            continue;
        }
        while (v != top && !v->next)
            v = v->parent;
        if (v == top)
            return visited;
        v = v->next;
    }
}

static NOINLINE void change_tree(struct cycle *c)
{
    struct node *hung = c->leaves_on_first ? c->first : c->second;
    struct node *onto = c->leaves_on_first ? c->second : c->first;
    struct arc *out = c->leaving->pred;
    turn_path(hung, c->leaving, onto, c->entering);
    out->state = out->flow == 0 ? AT_LOWER : AT_UPPER;
    c->entering->state = IN_TREE;
    refresh_subtree(hung);
}

void network_solve(struct network *n, struct pricer *p)
{
    struct cycle c;
    while ((c.entering = p->rule(p)) != 0) {
        int forward = c.entering->state == AT_LOWER;
        c.first = forward ? c.entering->tail : c.entering->head;
        c.second = forward ? c.entering->head : c.entering->tail;
        c.join = find_join(c.first, c.second);
        find_leaving(&c);
        n->pivots++;
        n->degenerate += c.amount == 0;
        if (c.amount > 0)
            push_flow(&c);
        if (c.leaving)
            change_tree(&c);
        else
            c.entering->state = -c.entering->state;
    }
}
