// A hash join by uthash: customers are put into a hash table by their number, and orders, which name
// customers in no order, are looked up there one by one. Half of the orders name nobody.
#include "uthash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct customer {
    uint64_t number;
    uint64_t orders;
    uint64_t owes;
    UT_hash_handle hh;
};

struct order {
    uint64_t customer;
    uint64_t amount;
};

static uint64_t state = 2005;

static uint64_t below(uint64_t end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) * end >> 32;
}

// Different numbers for different indices, in no order (SplitMix64).
static uint64_t number_of(uint64_t index) {
    uint64_t z = index * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void *table(size_t rows, size_t bytes) {
    void *made = calloc(rows, bytes);
    if (!made) {
        puts("no memory");
        exit(1);
    }
    return made;
}

int main(int argc, char **argv) {
    size_t customers = argc > 1 ? strtoul(argv[1], 0, 10) : 1000;
    size_t orders = argc > 2 ? strtoul(argv[2], 0, 10) : 1000;
    struct customer *customer = table(customers, sizeof *customer);
    struct order *order = table(orders, sizeof *order);
    for (size_t i = 0; i < customers; i++)
        customer[i].number = number_of(i);
    uint64_t known = 0, owed = 0;
    for (size_t i = 0; i < orders; i++) {
        uint64_t index = below(2 * customers);
        order[i].customer = number_of(index);
        order[i].amount = 1 + below(1000);
        if (index < customers) {
            known++;
            owed += order[i].amount;
        }
    }

    struct customer *by_number = NULL;
    for (size_t i = 0; i < customers; i++)
        HASH_ADD(hh, by_number, number, sizeof customer->number, &customer[i]);
    printf("build: %u customers, %u buckets\n", HASH_COUNT(by_number), by_number->hh.tbl->num_buckets);

    uint64_t matches = 0;
    for (size_t i = 0; i < orders; i++) {
        struct customer *found;
        HASH_FIND(hh, by_number, &order[i].customer, sizeof order[i].customer, found);
        if (found) {
            found->orders++;
            found->owes += order[i].amount;
            matches++;
        }
    }
    printf("probe: %zu orders, %" PRIu64 " matches\n", orders, matches);

    uint64_t without = 0, owes = 0, hash = 14695981039346656037u;
    for (struct customer *each = by_number; each; each = each->hh.next) {
        without += !each->orders;
        owes += each->owes;
        hash = (hash ^ (each->owes + each->orders)) * 1099511628211u;
    }
    printf("result: %" PRIu64 " without orders, %" PRIu64 " owed, hash %016" PRIx64 "\n", without, owes, hash);
    if (matches != known || owes != owed) {
        puts("the join lost rows");
        return 1;
    }
    HASH_CLEAR(hh, by_number);
    return 0;
}
