/* An object store: records of several classes in chunks of a segment, found by handle through a hash
 * index and by key through B-trees, changed by transactions that can be undone. */
#ifndef STORE_H
#define STORE_H

#include "rt.h"

typedef uint32_t handle; /* 0 is no object */

enum class_id { PERSON, ACCOUNT, ITEM, ORDER, CLASS_COUNT };
enum { NAME_LENGTH = 20, MAX_LINES = 6 };

struct object {
    handle id;
    uint8_t class, deleted;
    uint16_t version;
    struct object *hash_next;
};

struct person {
    struct object base;
    char name[NAME_LENGTH];
    uint32_t city;
    handle account;
    handle last_order;
};

struct account {
    struct object base;
    int64_t balance;
    handle owner;
    uint32_t postings;
};

struct item {
    struct object base;
    char name[NAME_LENGTH];
    int32_t price, stock;
};

struct order {
    struct object base;
    handle buyer, previous; /* the buyer's orders are a list */
    uint32_t line_count, day;
    handle item[MAX_LINES];
    int32_t amount[MAX_LINES];
};

/* What every class can do. */
struct class {
    const char *name;
    size_t size;
    uint64_t (*key)(const struct object *o); /* the key in the class's tree */
    uint64_t (*digest)(const struct object *o);
    int (*valid)(const struct object *o);
};
extern const struct class classes[CLASS_COUNT];

/* B-trees (btree.c): from a key and a handle, which together are unique, to nothing else. */
struct btree;
typedef int btree_visitor(uint64_t key, handle id, void *context); /* 0 stops the scan */
struct btree *btree_new(void);
void btree_free(struct btree *t);
void btree_insert(struct btree *t, uint64_t key, handle id);
int btree_remove(struct btree *t, uint64_t key, handle id);
/* Visits entries from `from` upwards in order; returns how many. */
long btree_scan(const struct btree *t, uint64_t from, btree_visitor *visit, void *context);
long btree_check(const struct btree *t);
int btree_height(const struct btree *t);

/* The store (store.c). */
struct store {
    struct object **buckets;
    uint32_t bucket_count, live, next_id;
    struct btree *by_key[CLASS_COUNT];
    struct object *free_objects[CLASS_COUNT];
    struct chunk *chunks;
    long lookups, probes, rehashes;
};
void store_init(struct store *s);
void store_free(struct store *s);
struct object *store_find(struct store *s, handle id);
/* A new object of zeros; entered in the tree by store_commit_new. */
struct object *store_create(struct store *s, enum class_id class);
void store_commit_new(struct store *s, struct object *o);
void store_delete(struct store *s, struct object *o);
void store_rekey(struct store *s, struct object *o, uint64_t old_key);
uint64_t store_digest(struct store *s);

/* Journal (journal.c): copies of objects before they were changed. */
struct journal;
struct journal *journal_new(struct store *s);
void journal_free(struct journal *j);
void journal_begin(struct journal *j);
void journal_change(struct journal *j, struct object *o);
void journal_created(struct journal *j, struct object *o);
void journal_commit(struct journal *j);
void journal_undo(struct journal *j);

/* Transactions (transactions.c). */
struct shop {
    struct store *store;
    struct journal *journal;
    struct rng *rng;
    handle *people, *items;
    int people_count, item_count;
    long committed[8], undone[8];
    uint64_t answers;
};
typedef int transaction(struct shop *shop); /* 0: undo it */
struct transaction_kind {
    const char *name;
    transaction *run;
    int weight;
};
extern const struct transaction_kind transactions[];
extern const int transaction_count;
void shop_fill(struct shop *shop, int people, int items);

#endif
