// Minimum-cost flows in generated networks by LEMON's network simplex method: grids with shortcuts,
// transport problems, and sparse random networks, under several pivot rules that must agree.
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Graph = lemon::SmartDigraph;
using Simplex = lemon::NetworkSimplex<Graph, int64_t, int64_t>;

namespace {

class Random {
public:
    explicit Random(uint64_t seed) : state(seed) {}
    int64_t below(int64_t end) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return int64_t((state >> 33) % uint64_t(end));
    }

private:
    uint64_t state;
};

struct Network {
    Graph graph;
    std::vector<Graph::Node> nodes;
    Graph::ArcMap<int64_t> capacity{graph}, cost{graph};
    Graph::NodeMap<int64_t> supply{graph, 0};

    explicit Network(int count) {
        for (int n = 0; n < count; n++)
            nodes.push_back(graph.addNode());
    }
    void arc(int from, int to, int64_t most, int64_t price) {
        Graph::Arc arc = graph.addArc(nodes[from], nodes[to]);
        capacity[arc] = most;
        cost[arc] = price;
    }
    // What flows in at one node flows out at another.
    void demand(int from, int to, int64_t amount) {
        supply[nodes[from]] += amount;
        supply[nodes[to]] -= amount;
        arc(from, to, amount, 100000); // so that there always is a flow
    }
};

void grid(Network &net, int side, Random &random) {
    auto at = [&](int x, int y) { return y * side + x; };
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            if (x + 1 < side)
                net.arc(at(x, y), at(x + 1, y), 5 + random.below(40), 1 + random.below(100));
            if (y + 1 < side)
                net.arc(at(x, y), at(x, y + 1), 5 + random.below(40), 1 + random.below(100));
            if (random.below(4) == 0)
                net.arc(at(x, y), int(random.below(side * side)), 30, 50 + random.below(400));
        }
    for (int n = 0; n < 2 * side; n++)
        net.demand(int(random.below(side * side / 2)), int(side * side / 2 + random.below(side * side / 2)),
                   1 + random.below(25));
}

void transport(Network &net, int count, Random &random) {
    int half = count / 2;
    for (int from = 0; from < half; from++)
        for (int n = 0; n < 8; n++)
            net.arc(from, half + int(random.below(half)), 10 + random.below(60), 1 + random.below(1000));
    for (int n = 0; n < half; n++)
        net.demand(n, half + (n * 7 + 3) % half, 5 + random.below(30));
}

void sparse(Network &net, int count, Random &random) {
    for (int n = 0; n < 5 * count; n++)
        net.arc(int(random.below(count)), int(random.below(count)), 1 + random.below(80), random.below(300));
    for (int n = 0; n < count / 4; n++)
        net.demand(int(random.below(count)), int(random.below(count)), 1 + random.below(40));
}

int64_t solve(Network &net, Simplex::PivotRule rule, uint64_t &hash) {
    Simplex simplex(net.graph);
    simplex.upperMap(net.capacity).costMap(net.cost).supplyMap(net.supply);
    if (simplex.run(rule) != Simplex::OPTIMAL) {
        std::puts("no optimum");
        std::exit(1);
    }
    for (Graph::NodeIt node(net.graph); node != lemon::INVALID; ++node)
        hash = hash * 1099511628211u + uint64_t(simplex.potential(node));
    return simplex.totalCost();
}

} // namespace

int main(int argc, char **argv) {
    int scale = argc > 1 ? std::atoi(argv[1]) : 1;
    int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
    for (int round = 0; round < rounds; round++)
        for (int kind = 0; kind < 3; kind++) {
            int side = 8 + 8 * scale;
            Network net(side * side);
            Random random(2005 + 10 * round + kind);
            if (kind == 0)
                grid(net, side, random);
            else if (kind == 1)
                transport(net, side * side, random);
            else
                sparse(net, side * side, random);
            uint64_t hash = 14695981039346656037u;
            int64_t cost = solve(net, Simplex::BLOCK_SEARCH, hash);
            std::printf("network %d.%d: %d nodes, %d arcs, cost %lld, potentials %016llx\n", round, kind,
                        lemon::countNodes(net.graph), lemon::countArcs(net.graph), (long long)cost,
                        (unsigned long long)hash);
            uint64_t other = 0;
            Simplex::PivotRule rule = round % 2 ? Simplex::ALTERING_LIST : Simplex::CANDIDATE_LIST;
            if (solve(net, rule, other) != cost) {
                std::puts("the pivot rules disagree");
                return 1;
            }
        }
}
