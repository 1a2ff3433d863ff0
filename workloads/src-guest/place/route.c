/* Routing on the grid: every net is a tree of cheapest paths; points that too many nets use become
 * dearer from round to round until no point is overused. */
#include "place.h"

struct router {
    const struct circuit *circuit;
    int points, capacity;
    int *use;          /* nets on each point */
    double *history;   /* what a point's overuse in earlier rounds adds */
    double pressure;   /* weight of present overuse */
    double *distance;  /* of this search */
    int *from;         /* where the search came from, -1 at the tree */
    uint32_t *seen, now, *tree, tree_now;
    int **wires, *wire_counts; /* points of each net */
    struct heap heap;
    struct route_result result;
};

static inline int point_of(const struct circuit *c, int cell)
{
    return c->cell[cell].y * c->side + c->cell[cell].x;
}

static NOINLINE double point_cost(const struct router *r, int point)
{
    int over = r->use[point] + 1 - r->capacity;
    double present = over > 0 ? 1 + r->pressure * (double)over : 1;
    return (1 + r->history[point]) * present;
}

static NOINLINE double estimate(const struct router *r, int point, int target)
{
    int side = r->circuit->side;
    int dx = point % side - target % side, dy = point / side - target / side;
    return (double)((dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy));
}

static NOINLINE void reach(struct router *r, int point, int from, double distance, int target)
{
    if (r->seen[point] == r->now && r->distance[point] <= distance)
        return;
    r->seen[point] = r->now;
    r->distance[point] = distance;
    r->from[point] = from;
    heap_push(&r->heap, distance + estimate(r, point, target), point);
}

static NOINLINE void expand(struct router *r, int point, int target)
{
    int side = r->circuit->side, x = point % side, y = point / side;
    const int next[4] = {x > 0 ? point - 1 : -1, x + 1 < side ? point + 1 : -1, y > 0 ? point - side : -1,
                         y + 1 < side ? point + side : -1};
    for (int i = 0; i < 4; i++)
        if (next[i] >= 0)
            reach(r, next[i], point, r->distance[point] + point_cost(r, next[i]), target);
}

static void add_to_tree(struct router *r, int net, int point)
{
    if (r->tree[point] == r->tree_now)
        return;
    r->tree[point] = r->tree_now;
    r->use[point]++;
    r->wires[net][r->wire_counts[net]++] = point;
}

/* The cheapest path from the net's tree to the target, by A*. */
static NOINLINE void connect(struct router *r, int net, int target)
{
    r->now++;
    r->heap.size = 0;
    for (int i = 0; i < r->wire_counts[net]; i++)
        reach(r, r->wires[net][i], -1, 0, target);
    for (;;) {
        struct heap_item item = heap_pop(&r->heap);
        r->result.pops++;
        if (item.point == target)
            break;
        if (item.key > r->distance[item.point] + estimate(r, item.point, target))
            continue; /* a shorter way was found since */
        expand(r, item.point, target);
    }
    for (int point = target; point >= 0; point = r->from[point])
        add_to_tree(r, net, point);
}

static NOINLINE void rip_up(struct router *r, int net)
{
    for (int i = 0; i < r->wire_counts[net]; i++)
        r->use[r->wires[net][i]]--;
    r->wire_counts[net] = 0;
}

static NOINLINE void route_net(struct router *r, int net)
{
    const struct net *n = &r->circuit->net[net];
    r->tree_now++;
    add_to_tree(r, net, point_of(r->circuit, n->pins[0]));
    for (int i = 1; i < n->pin_count; i++)
        connect(r, net, point_of(r->circuit, n->pins[i]));
}

static NOINLINE int is_congested(const struct router *r, int net)
{
    for (int i = 0; i < r->wire_counts[net]; i++)
        if (r->use[r->wires[net][i]] > r->capacity)
            return 1;
    return 0;
}

static NOINLINE int note_overuse(struct router *r)
{
    int overused = 0;
    for (int i = 0; i < r->points; i++)
        if (r->use[i] > r->capacity) {
            overused++;
            r->history[i] += 0.4 * (double)(r->use[i] - r->capacity);
        }
    return overused;
}

static void router_free(struct router *r)
{
    for (int i = 0; i < r->circuit->nets; i++)
        free(r->wires[i]);
    free(r->wires);
    free(r->wire_counts);
    free(r->use);
    free(r->history);
    free(r->distance);
    free(r->from);
    free(r->seen);
    free(r->tree);
    free(r->heap.items);
    free(r);
}

static struct router *router_new(const struct circuit *c, int capacity)
{
    struct router *r = calloc(1, sizeof(*r));
    size_t points = (size_t)(c->side * c->side), nets = (size_t)c->nets;
    r->circuit = c;
    r->points = (int)points;
    r->capacity = capacity;
    r->pressure = 0.5;
    r->use = calloc(points, sizeof(int));
    r->history = calloc(points, sizeof(double));
    r->distance = calloc(points, sizeof(double));
    r->from = calloc(points, sizeof(int));
    r->seen = calloc(points, sizeof(uint32_t));
    r->tree = calloc(points, sizeof(uint32_t));
    r->wires = calloc(nets, sizeof(int *));
    r->wire_counts = calloc(nets, sizeof(int));
    for (size_t i = 0; i < nets; i++)
        r->wires[i] = malloc(points * sizeof(int));
    heap_init(&r->heap, (int)points * 16);
    return r;
}

struct route_result route(const struct circuit *c, int capacity, int max_rounds)
{
    struct router *r = router_new(c, capacity);
    do {
        for (int net = 0; net < c->nets; net++) {
            if (r->result.rounds > 0 && !is_congested(r, net))
                continue;
            rip_up(r, net);
            route_net(r, net);
        }
        r->result.overused = note_overuse(r);
        r->pressure *= 1.6;
        r->result.rounds++;
    } while (r->result.overused > 0 && r->result.rounds < max_rounds);
    r->result.sum = CHECKSUM_START;
    for (int net = 0; net < c->nets; net++) {
        r->result.wires += r->wire_counts[net];
        for (int i = 0; i < r->wire_counts[net]; i++)
            r->result.sum = checksum_word(r->result.sum, (uint64_t)r->wires[net][i]);
    }
    struct route_result result = r->result;
    router_free(r);
    return result;
}
