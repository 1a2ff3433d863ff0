/* Three estimates of a net's wire length. */
#include "place.h"

struct extent {
    int left, right, bottom, top;
};

static NOINLINE struct extent extent_of(const struct circuit *c, const struct net *n)
{
    const struct cell *first = &c->cell[n->pins[0]];
    struct extent e = {first->x, first->x, first->y, first->y};
    for (int i = 1; i < n->pin_count; i++) {
        const struct cell *cell = &c->cell[n->pins[i]];
        e.left = cell->x < e.left ? cell->x : e.left;
        e.right = cell->x > e.right ? cell->x : e.right;
        e.bottom = cell->y < e.bottom ? cell->y : e.bottom;
        e.top = cell->y > e.top ? cell->y : e.top;
    }
    return e;
}

/* Half the perimeter, corrected for nets of many pins. */
NOINLINE double cost_bounding_box(const struct circuit *c, const struct net *n)
{
    static const double correction[MAX_PINS + 1] = {1, 1, 1, 1, 1.08, 1.15, 1.22, 1.28, 1.34};
    struct extent e = extent_of(c, n);
    return correction[n->pin_count] * (double)(e.right - e.left + e.top - e.bottom);
}

/* The distances of all pins from the driver. */
NOINLINE double cost_star(const struct circuit *c, const struct net *n)
{
    const struct cell *driver = &c->cell[n->pins[0]];
    double sum = 0;
    for (int i = 1; i < n->pin_count; i++) {
        const struct cell *cell = &c->cell[n->pins[i]];
        double dx = cell->x - driver->x, dy = cell->y - driver->y;
        sum += __builtin_sqrt(dx * dx + dy * dy);
    }
    return sum * (double)n->weight;
}

/* The perimeter, dearer towards the middle, where everyone wants to pass. */
NOINLINE double cost_congested(const struct circuit *c, const struct net *n)
{
    struct extent e = extent_of(c, n);
    double middle = 0.5 * (double)(c->side - 1);
    double dx = 0.5 * (double)(e.left + e.right) - middle, dy = 0.5 * (double)(e.bottom + e.top) - middle;
    double off = __builtin_sqrt(dx * dx + dy * dy) / (double)c->side;
    return (double)(e.right - e.left + e.top - e.bottom) * (1.4 - off);
}

NOINLINE double total_cost(const struct circuit *c, net_cost *cost)
{
    double sum = 0;
    for (int i = 0; i < c->nets; i++)
        sum += cost(c, &c->net[i]);
    return sum;
}
