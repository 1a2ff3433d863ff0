/* objstore: fills a store, runs a mix of transactions on it, and checks everything at the end. */
#include "store.h"

static NOINLINE int pick_transaction(struct rng *rng)
{
    int total = 0;
    for (int i = 0; i < transaction_count; i++)
        total += transactions[i].weight;
    int dice = (int)rng_below(rng, (uint32_t)total), i = 0;
    while (dice >= transactions[i].weight)
        dice -= transactions[i++].weight;
    return i;
}

static NOINLINE void run_one(struct shop *s)
{
    int kind = pick_transaction(s->rng);
    journal_begin(s->journal);
    if (transactions[kind].run(s)) {
        journal_commit(s->journal);
        s->committed[kind]++;
    } else {
        journal_undo(s->journal);
        s->undone[kind]++;
    }
}

static NOINLINE void print_results(struct shop *s)
{
    struct store *store = s->store;
    for (int i = 0; i < transaction_count; i++)
        printf("%-12s committed %ld undone %ld\n", transactions[i].name, s->committed[i], s->undone[i]);
    for (int c = 0; c < CLASS_COUNT; c++)
        printf("%-8s objects %ld height %d\n", classes[c].name, btree_check(store->by_key[c]),
               btree_height(store->by_key[c]));
    printf("live %u handles %u rehashes %ld lookups %ld probes %ld\n", store->live, store->next_id, store->rehashes,
           store->lookups, store->probes);
    printf("answers %016lx digest %016lx\n", (unsigned long)s->answers, (unsigned long)store_digest(store));
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    struct store store;
    struct shop shop;
    struct rng rng;
    rng_seed(&rng, 1988);
    store_init(&store);
    memset(&shop, 0, sizeof(shop));
    shop.store = &store;
    shop.journal = journal_new(&store);
    shop.rng = &rng;
    shop.answers = CHECKSUM_START;
    shop_fill(&shop, large ? 4000 : 240, large ? 3000 : 180);
    for (int i = 0; i < (large ? 220000 : 3000); i++)
        run_one(&shop);
    print_results(&shop);
    journal_free(shop.journal);
    free(shop.people);
    free(shop.items);
    store_free(&store);
    if (rt_live_blocks() != 0)
        rt_fail("blocks leaked");
    return 0;
}
