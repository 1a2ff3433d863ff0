/* Undo: the bytes of every object before its first change in a transaction. */
#include "store.h"

struct record {
    struct record *next;
    handle id;
    int created;
    unsigned char bytes[]; /* the object as it was */
};

struct journal {
    struct store *store;
    struct record *records; /* newest first */
};

struct journal *journal_new(struct store *s)
{
    struct journal *j = malloc(sizeof(*j));
    j->store = s;
    j->records = 0;
    return j;
}

static void drop_records(struct journal *j)
{
    while (j->records) {
        struct record *r = j->records;
        j->records = r->next;
        free(r);
    }
}

void journal_free(struct journal *j)
{
    drop_records(j);
    free(j);
}

void journal_begin(struct journal *j)
{
    if (j->records)
        rt_fail("transactions do not nest");
}

static NOINLINE struct record *add_record(struct journal *j, struct object *o, size_t bytes)
{
    struct record *r = malloc(sizeof(*r) + bytes);
    r->next = j->records;
    r->id = o->id;
    r->created = 0;
    j->records = r;
    return r;
}

void journal_change(struct journal *j, struct object *o)
{
    for (const struct record *r = j->records; r; r = r->next)
        if (r->id == o->id)
            return;
    size_t size = classes[o->class].size;
    memcpy(add_record(j, o, size)->bytes, o, size);
    o->version++;
}

void journal_created(struct journal *j, struct object *o)
{
    add_record(j, o, 0)->created = 1;
}

void journal_commit(struct journal *j)
{
    drop_records(j);
}

static NOINLINE void undo_record(struct journal *j, const struct record *r)
{
    struct object *o = store_find(j->store, r->id);
    if (r->created) {
        store_delete(j->store, o);
        return;
    }
    uint64_t key = classes[o->class].key(o);
    struct object *link = o->hash_next;
    memcpy(o, r->bytes, classes[o->class].size);
    o->hash_next = link;
    store_rekey(j->store, o, key);
}

void journal_undo(struct journal *j)
{
    for (const struct record *r = j->records; r; r = r->next)
        undo_record(j, r);
    drop_records(j);
}
