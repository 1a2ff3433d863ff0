// A B-tree by Abseil: orders are loaded by rising keys, others inserted between them, orders looked up, and ranges of keys
// summed, all in no order.
#include "absl/container/btree_map.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// A prime: its multiples visit all that it does not divide, in no order.
constexpr uint64_t STEP = 2654435761u;

struct Order {
    uint64_t customer, amount, item;
};

uint64_t key_of(uint64_t index) { return index << 32; }

uint64_t amount_of(uint64_t index) { return 1 + index * 7919 % 1000; }

void expect(bool holds, const char *otherwise) {
    if (!holds) {
        std::puts(otherwise);
        std::exit(1);
    }
}

} // namespace

int main(int argc, char **argv) {
    uint64_t quarter = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
    uint64_t lookups = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000;
    uint64_t width = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 10;
    absl::btree_map<uint64_t, Order> tree;
    uint64_t total = 0, end = 8 * quarter;
    auto order = [&](uint64_t index) {
        total += amount_of(index);
        return std::pair<const uint64_t, Order>(key_of(index), {index % 97, amount_of(index), index});
    };
    for (uint64_t index = 0; index < end; index += 2)
        tree.insert(tree.end(), order(index));
    std::printf("load: %zu orders\n", tree.size());

    // Keys between those of the load: indices that leave 1 when divided by 8.
    for (uint64_t i = 0; i < quarter; i++)
        expect(tree.insert(order(8 * (i * STEP % quarter) + 1)).second, "a key was there already");
    std::printf("inserts: %zu orders\n", tree.size());

    uint64_t state = 2005, found = 0, amount = 0, known = 0, sum = 0;
    for (uint64_t i = 0; i < lookups; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t index = (state >> 32) * end >> 32;
        auto at = tree.find(key_of(index));
        if (at != tree.end()) {
            found++;
            amount += at->second.amount;
        }
        if (index % 2 == 0 || index % 8 == 1) {
            known++;
            sum += amount_of(index);
        }
    }
    std::printf("lookups: %llu of %llu found, amount %llu\n", (unsigned long long)found, (unsigned long long)lookups,
                (unsigned long long)amount);
    expect(found == known && amount == sum, "lookups went wrong");

    // Ranges of one length over all keys have every order once between them.
    uint64_t ranges = (end + width - 1) / width, rows = 0, scanned = 0, hash = 14695981039346656037u;
    for (uint64_t i = 0; i < ranges; i++) {
        uint64_t first = i * STEP % ranges * width, next = first;
        for (auto at = tree.lower_bound(key_of(first)); at != tree.end() && at->second.item < first + width; ++at) {
            expect(at->second.item >= next, "a range is out of order");
            next = at->second.item + 1;
            rows++;
            scanned += at->second.amount;
            hash = (hash ^ at->second.item) * 1099511628211u;
        }
    }
    std::printf("scans: %llu ranges, %llu rows, amount %llu, hash %016llx\n", (unsigned long long)ranges,
                (unsigned long long)rows, (unsigned long long)scanned, (unsigned long long)hash);
    expect(rows == tree.size() && scanned == total, "ranges lost rows");
}
