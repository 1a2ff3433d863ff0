// Breadth-first search and Dijkstra's algorithm by LEMON, in a random digraph whose arcs lie in memory in no order.
#include <lemon/bfs.h>
#include <lemon/dijkstra.h>
#include <lemon/smart_graph.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using Graph = lemon::SmartDigraph;
using Lengths = Graph::ArcMap<int>;

namespace {

class Random {
public:
    explicit Random(uint64_t seed) : state(seed) {}
    int below(int end) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return int((state >> 32) * uint64_t(end) >> 32);
    }

private:
    uint64_t state;
};

// Distances are right if no arc makes a way shorter, and the arc by which each node was reached makes it as long as it is.
template <typename Search, typename Length>
void check(const Graph &graph, const Search &search, Graph::Node source, Length length, const char *name) {
    int reached = 0, farthest = 0;
    int64_t sum = 0;
    uint64_t hash = 14695981039346656037u;
    bool right = search.dist(source) == 0;
    for (Graph::NodeIt node(graph); node != lemon::INVALID; ++node) {
        if (!search.reached(node))
            continue;
        int far = search.dist(node);
        Graph::Arc by = search.predArc(node);
        if (by == lemon::INVALID)
            right = right && node == source;
        else
            right = right && search.dist(graph.source(by)) + length(by) == far;
        for (Graph::OutArcIt arc(graph, node); arc != lemon::INVALID; ++arc) {
            Graph::Node to = graph.target(arc);
            right = right && search.reached(to) && search.dist(to) <= far + length(arc);
        }
        reached++;
        farthest = far > farthest ? far : farthest;
        sum += far;
        hash = (hash ^ uint64_t(far)) * 1099511628211u;
    }
    std::printf("%s from %d: %d reached, farthest %d, sum %lld, hash %016llx\n", name, graph.id(source), reached,
                farthest, (long long)sum, (unsigned long long)hash);
    if (!right) {
        std::puts("a distance is wrong");
        std::exit(1);
    }
}

} // namespace

int main(int argc, char **argv) {
    int nodes = argc > 1 ? std::atoi(argv[1]) : 1000;
    int arcs = argc > 2 ? std::atoi(argv[2]) : 4000;
    int rounds = argc > 3 ? std::atoi(argv[3]) : 1;
    Random random(2005);
    Graph graph;
    graph.reserveNode(nodes);
    graph.reserveArc(arcs);
    for (int n = 0; n < nodes; n++)
        graph.addNode();
    for (int n = 0; n < arcs; n++) {
        Graph::Node from = graph.nodeFromId(random.below(nodes));
        graph.addArc(from, graph.nodeFromId(random.below(nodes)));
    }
    Lengths lengths(graph);
    for (int n = 0; n < arcs; n++)
        lengths[graph.arcFromId(n)] = 1 + random.below(1000);
    std::printf("graph: %d nodes, %d arcs\n", graph.nodeNum(), graph.arcNum());

    for (int round = 0; round < rounds; round++) {
        Graph::Node source = graph.nodeFromId(random.below(nodes));
        lemon::Bfs<Graph> bfs(graph);
        bfs.run(source);
        check(graph, bfs, source, [](Graph::Arc) { return 1; }, "bfs");
        lemon::Dijkstra<Graph, Lengths> dijkstra(graph, lengths);
        dijkstra.run(source);
        check(graph, dijkstra, source, [&](Graph::Arc arc) { return lengths[arc]; }, "dijkstra");
    }
}
