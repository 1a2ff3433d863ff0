/* netsimplex: solves networks of three kinds with three pricing rules; all must agree. */
#include "network.h"

struct kind {
    const char *name;
    generator *generate;
    int small, large;
};

static const struct kind kinds[] = {
    {"transport", generate_transport, 48, 800},
    {"grid", generate_grid, 64, 950},
    {"timetable", generate_timetable, 39, 700},
};

struct rule {
    const char *name;
    price_rule *rule;
};

static const struct rule rules[] = {
    {"first", price_first},
    {"block", price_block},
    {"candidates", price_candidates},
};

static NOINLINE int64_t solve(struct network *n, const struct rule *rule, const char *kind)
{
    struct pricer p;
    network_start(n);
    pricer_init(&p, n, rule->rule);
    network_solve(n, &p);
    network_check(n);
    int64_t cost = network_cost(n);
    printf("%-10s %-10s cost %ld pivots %ld degenerate %ld scanned %ld\n", kind, rule->name, (long)cost, n->pivots,
           n->degenerate, p.scanned);
    return cost;
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    struct rng rng;
    rng_seed(&rng, 1951);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct network n;
        kinds[k].generate(&n, &rng, large ? kinds[k].large : kinds[k].small);
        printf("%s nodes %d arcs %d\n", kinds[k].name, n.node_count - 1, n.real_arcs);
        int64_t cost = 0;
        for (size_t r = 0; r < ARRAY_LEN(rules); r++) {
            int64_t c = solve(&n, &rules[r], kinds[k].name);
            if (r > 0 && c != cost)
                rt_fail("the rules disagree");
            cost = c;
        }
        network_free(&n);
    }
    return 0;
}
