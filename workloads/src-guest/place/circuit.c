/* Generated circuits: mostly local nets between cells of nearby numbers, at random places first. */
#include "place.h"

static NOINLINE void make_net(struct circuit *c, struct net *n, struct rng *rng)
{
    int driver = (int)rng_below(rng, (uint32_t)c->cells);
    int wanted = 2 + (int)rng_below(rng, 1 + rng_below(rng, MAX_PINS - 1));
    n->pin_count = 0;
    n->weight = 1 + (int)rng_below(rng, 3);
    n->pins[n->pin_count++] = driver;
    while (n->pin_count < wanted) {
        int span = rng_below(rng, 10) == 0 ? c->cells : 24;
        int pin = (driver + 1 + (int)rng_below(rng, (uint32_t)span)) % c->cells, known = 0;
        for (int i = 0; i < n->pin_count; i++)
            known |= n->pins[i] == pin;
        if (!known)
            n->pins[n->pin_count++] = pin;
    }
}

static NOINLINE void connect_cells(struct circuit *c)
{
    for (int i = 0; i < c->nets; i++)
        for (int k = 0; k < c->net[i].pin_count; k++)
            c->cell[c->net[i].pins[k]].net_count++;
    for (int i = 0; i < c->cells; i++) {
        c->cell[i].nets = malloc((size_t)c->cell[i].net_count * sizeof(int));
        c->cell[i].net_count = 0;
    }
    for (int i = 0; i < c->nets; i++)
        for (int k = 0; k < c->net[i].pin_count; k++) {
            struct cell *cell = &c->cell[c->net[i].pins[k]];
            cell->nets[cell->net_count++] = i;
        }
}

static NOINLINE void place_at_random(struct circuit *c, struct rng *rng)
{
    int places = c->side * c->side;
    for (int i = 0; i < places; i++)
        c->at[i] = -1;
    for (int i = 0; i < c->cells; i++) {
        int place;
        do
            place = (int)rng_below(rng, (uint32_t)places);
        while (c->at[place] >= 0);
        c->at[place] = i;
        c->cell[i].x = place % c->side;
        c->cell[i].y = place / c->side;
    }
}

void circuit_generate(struct circuit *c, struct rng *rng, int side, int fill_percent)
{
    c->side = side;
    c->cells = side * side * fill_percent / 100;
    c->nets = c->cells * 11 / 10;
    c->cell = calloc((size_t)c->cells, sizeof(struct cell));
    c->net = calloc((size_t)c->nets, sizeof(struct net));
    c->at = malloc((size_t)(side * side) * sizeof(int));
    for (int i = 0; i < c->nets; i++)
        make_net(c, &c->net[i], rng);
    connect_cells(c);
    place_at_random(c, rng);
}

void circuit_free(struct circuit *c)
{
    for (int i = 0; i < c->cells; i++)
        free(c->cell[i].nets);
    free(c->cell);
    free(c->net);
    free(c->at);
}

void circuit_check(const struct circuit *c)
{
    int seen = 0;
    for (int place = 0; place < c->side * c->side; place++) {
        int cell = c->at[place];
        if (cell < 0)
            continue;
        seen++;
        if (c->cell[cell].y * c->side + c->cell[cell].x != place)
            rt_fail("a cell is not where the grid has it");
    }
    if (seen != c->cells)
        rt_fail("a cell was lost");
}
