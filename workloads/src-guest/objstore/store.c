/* Objects in chunks, a growing hash index from handles, and one tree for each class. */
#include "store.h"

enum { CHUNK_BYTES = 8000, FIRST_BUCKETS = 64 };

struct chunk {
    struct chunk *next;
    size_t used;
    char bytes[CHUNK_BYTES];
};

void store_init(struct store *s)
{
    memset(s, 0, sizeof(*s));
    s->bucket_count = FIRST_BUCKETS;
    s->buckets = calloc(s->bucket_count, sizeof(*s->buckets));
    s->next_id = 1;
    for (int c = 0; c < CLASS_COUNT; c++)
        s->by_key[c] = btree_new();
}

void store_free(struct store *s)
{
    for (int c = 0; c < CLASS_COUNT; c++)
        btree_free(s->by_key[c]);
    while (s->chunks) {
        struct chunk *next = s->chunks->next;
        free(s->chunks);
        s->chunks = next;
    }
    free(s->buckets);
}

static NOINLINE uint32_t bucket_of(const struct store *s, handle id)
{
    return (id * 2654435761u >> 7) & (s->bucket_count - 1);
}

NOINLINE struct object *store_find(struct store *s, handle id)
{
    s->lookups++;
    for (struct object *o = s->buckets[bucket_of(s, id)]; o; o = o->hash_next) {
        s->probes++;
        if (o->id == id)
            return o;
    }
    return 0;
}

static NOINLINE void rehash(struct store *s)
{
    uint32_t old_count = s->bucket_count;
    struct object **old = s->buckets;
    s->rehashes++;
    s->bucket_count *= 2;
    s->buckets = calloc(s->bucket_count, sizeof(*s->buckets));
    for (uint32_t i = 0; i < old_count; i++)
        while (old[i]) {
            struct object *o = old[i];
            old[i] = o->hash_next;
            uint32_t b = bucket_of(s, o->id);
            o->hash_next = s->buckets[b];
            s->buckets[b] = o;
        }
    free(old);
}

static NOINLINE struct object *take_space(struct store *s, enum class_id class)
{
    struct object *o = s->free_objects[class];
    size_t size = (classes[class].size + 7) & ~(size_t)7;
    if (o) {
        s->free_objects[class] = o->hash_next;
        return o;
    }
    if (!s->chunks || s->chunks->used + size > CHUNK_BYTES) {
        struct chunk *c = malloc(sizeof(*c));
        c->next = s->chunks;
        c->used = 0;
        s->chunks = c;
    }
    o = (struct object *)(s->chunks->bytes + s->chunks->used);
    s->chunks->used += size;
    return o;
}

struct object *store_create(struct store *s, enum class_id class)
{
    if (s->live >= s->bucket_count)
        rehash(s);
    struct object *o = take_space(s, class);
    memset(o, 0, classes[class].size);
    o->id = s->next_id++;
    o->class = (uint8_t)class;
    uint32_t b = bucket_of(s, o->id);
    o->hash_next = s->buckets[b];
    s->buckets[b] = o;
    s->live++;
    return o;
}

void store_commit_new(struct store *s, struct object *o)
{
    btree_insert(s->by_key[o->class], classes[o->class].key(o), o->id);
}

static NOINLINE void unlink_object(struct store *s, struct object *o)
{
    struct object **link = &s->buckets[bucket_of(s, o->id)];
    while (*link != o)
        link = &(*link)->hash_next;
    *link = o->hash_next;
}

void store_delete(struct store *s, struct object *o)
{
    if (!btree_remove(s->by_key[o->class], classes[o->class].key(o), o->id))
        rt_fail("an object is not in its tree");
    unlink_object(s, o);
    o->deleted = 1;
    o->hash_next = s->free_objects[o->class];
    s->free_objects[o->class] = o;
    s->live--;
}

void store_rekey(struct store *s, struct object *o, uint64_t old_key)
{
    uint64_t key = classes[o->class].key(o);
    if (key == old_key)
        return;
    if (!btree_remove(s->by_key[o->class], old_key, o->id))
        rt_fail("an object is not in its tree");
    btree_insert(s->by_key[o->class], key, o->id);
}

struct digest {
    struct store *store;
    uint64_t sum, last_key;
};

static NOINLINE int digest_entry(uint64_t key, handle id, void *context)
{
    struct digest *d = context;
    const struct object *o = store_find(d->store, id);
    if (!o || classes[o->class].key(o) != key || key < d->last_key)
        rt_fail("a tree and its objects disagree");
    if (!classes[o->class].valid(o))
        rt_fail("an object is not valid");
    d->last_key = key;
    d->sum = checksum_word(d->sum, classes[o->class].digest(o));
    return 1;
}

/* Visits everything in the order of the trees and checks it on the way. */
uint64_t store_digest(struct store *s)
{
    struct digest d = {s, CHECKSUM_START, 0};
    long entries = 0;
    for (int c = 0; c < CLASS_COUNT; c++) {
        d.last_key = 0;
        entries += btree_scan(s->by_key[c], 0, digest_entry, &d);
        btree_check(s->by_key[c]);
    }
    if (entries != (long)s->live)
        rt_fail("the trees hold another number of objects than the index");
    return d.sum;
}
