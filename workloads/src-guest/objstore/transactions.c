/* What a small shop does with its store. */
#include "store.h"

static void make_name(struct rng *rng, char *out)
{
    static const char *const parts[] = {"an", "ber", "cla", "dor", "el", "fin", "gus", "hel", "is", "jo", "kar", "lu"};
    int n = 0, count = 2 + (int)rng_below(rng, 3);
    for (int i = 0; i < count; i++)
        for (const char *p = parts[rng_below(rng, ARRAY_LEN(parts))]; *p; p++)
            out[n++] = *p;
    out[n] = 0;
}

static struct person *any_person(struct shop *s)
{
    return (struct person *)store_find(s->store, s->people[rng_below(s->rng, (uint32_t)s->people_count)]);
}

/* Popular items are asked for more often. */
static struct item *any_item(struct shop *s)
{
    uint32_t limit = 1 + rng_below(s->rng, (uint32_t)s->item_count);
    return (struct item *)store_find(s->store, s->items[rng_below(s->rng, limit)]);
}

static struct account *account_of(struct shop *s, const struct person *p)
{
    return (struct account *)store_find(s->store, p->account);
}

static NOINLINE void book(struct shop *s, struct account *a, int64_t amount)
{
    journal_change(s->journal, &a->base);
    a->balance += amount;
    a->postings++;
}

static NOINLINE int order_line(struct shop *s, struct order *o, struct account *payer)
{
    struct item *item = any_item(s);
    int32_t amount = 1 + (int32_t)rng_below(s->rng, 4);
    if (item->stock < amount)
        return 0;
    journal_change(s->journal, &item->base);
    item->stock -= amount;
    o->item[o->line_count] = item->base.id;
    o->amount[o->line_count++] = amount;
    book(s, payer, -(int64_t)amount * item->price);
    return payer->balance >= 0;
}

/* Buys a few things; undone if the money or the stock does not last. */
static NOINLINE int run_order(struct shop *s)
{
    struct person *buyer = any_person(s);
    struct order *o = (struct order *)store_create(s->store, ORDER);
    uint32_t lines = 1 + rng_below(s->rng, MAX_LINES);
    o->buyer = buyer->base.id;
    o->day = rng_below(s->rng, 365);
    o->previous = buyer->last_order;
    store_commit_new(s->store, &o->base);
    journal_created(s->journal, &o->base);
    journal_change(s->journal, &buyer->base);
    buyer->last_order = o->base.id;
    struct account *payer = account_of(s, buyer);
    for (uint32_t i = 0; i < lines; i++)
        if (!order_line(s, o, payer))
            return 0;
    return 1;
}

static NOINLINE int run_transfer(struct shop *s)
{
    struct account *from = account_of(s, any_person(s)), *to = account_of(s, any_person(s));
    int64_t amount = 1 + rng_below(s->rng, 500);
    book(s, from, -amount);
    book(s, to, amount);
    return from->balance >= 0;
}

static NOINLINE int run_salary(struct shop *s)
{
    for (int i = 0; i < 4; i++) {
        struct account *a = account_of(s, any_person(s));
        book(s, a, 400 + (int64_t)rng_below(s->rng, 300));
    }
    return 1;
}

/* A new price moves the item to another place in its tree. */
static NOINLINE int run_reprice(struct shop *s)
{
    struct item *item = any_item(s);
    uint64_t old_key = classes[ITEM].key(&item->base);
    journal_change(s->journal, &item->base);
    item->price = 1 + item->price * (int32_t)(80 + rng_below(s->rng, 41)) / 100;
    item->stock += (int32_t)rng_below(s->rng, 20);
    store_rekey(s->store, &item->base, old_key);
    return item->price < 400;
}

static NOINLINE int run_rename(struct shop *s)
{
    struct person *p = any_person(s);
    uint64_t old_key = classes[PERSON].key(&p->base);
    journal_change(s->journal, &p->base);
    make_name(s->rng, p->name);
    store_rekey(s->store, &p->base, old_key);
    return 1;
}

struct range_sum {
    struct shop *shop;
    uint64_t limit, sum;
    int left;
};

static NOINLINE int add_item_value(uint64_t key, handle id, void *context)
{
    struct range_sum *r = context;
    const struct item *item = (const struct item *)store_find(r->shop->store, id);
    r->sum += key * (uint64_t)item->stock;
    return key < r->limit && --r->left > 0;
}

/* The value of the stock in a range of prices. */
static NOINLINE int run_stock_report(struct shop *s)
{
    uint64_t from = 1 + rng_below(s->rng, 200);
    struct range_sum r = {s, from + 40, 0, 60};
    btree_scan(s->store->by_key[ITEM], from, add_item_value, &r);
    s->answers = checksum_word(s->answers, r.sum);
    return 1;
}

/* Walks a buyer's orders and the items in them. */
static NOINLINE int run_history(struct shop *s)
{
    handle next = any_person(s)->last_order;
    int64_t worth = 0;
    for (int i = 0; next && i < 12; i++) {
        const struct order *o = (const struct order *)store_find(s->store, next);
        for (uint32_t k = 0; k < o->line_count; k++)
            worth += (int64_t)o->amount[k] * ((const struct item *)store_find(s->store, o->item[k]))->price;
        next = o->previous;
    }
    s->answers = checksum_word(s->answers, (uint64_t)worth);
    return 1;
}

/* Forgets a buyer's orders. */
static NOINLINE int run_forget(struct shop *s)
{
    struct person *p = any_person(s);
    handle next = p->last_order;
    p->last_order = 0;
    while (next) {
        struct order *o = (struct order *)store_find(s->store, next);
        next = o->previous;
        store_delete(s->store, &o->base);
    }
    return 1;
}

const struct transaction_kind transactions[] = {
    {"order", run_order, 30},   {"transfer", run_transfer, 15},         {"salary", run_salary, 8},
    {"reprice", run_reprice, 8}, {"rename", run_rename, 4},             {"stock report", run_stock_report, 6},
    {"history", run_history, 25}, {"forget", run_forget, 3},
};
const int transaction_count = ARRAY_LEN(transactions);

void shop_fill(struct shop *s, int people, int items)
{
    s->people = malloc((size_t)people * sizeof(handle));
    s->items = malloc((size_t)items * sizeof(handle));
    s->people_count = people;
    s->item_count = items;
    for (int i = 0; i < people; i++) {
        struct person *p = (struct person *)store_create(s->store, PERSON);
        struct account *a = (struct account *)store_create(s->store, ACCOUNT);
        make_name(s->rng, p->name);
        p->city = rng_below(s->rng, 50);
        p->account = a->base.id;
        a->owner = s->people[i] = p->base.id;
        a->balance = 1000;
        store_commit_new(s->store, &p->base);
        store_commit_new(s->store, &a->base);
    }
    for (int i = 0; i < items; i++) {
        struct item *item = (struct item *)store_create(s->store, ITEM);
        make_name(s->rng, item->name);
        item->price = 1 + (int32_t)rng_below(s->rng, 200);
        item->stock = (int32_t)rng_below(s->rng, 100);
        s->items[i] = item->base.id;
        store_commit_new(s->store, &item->base);
    }
}
