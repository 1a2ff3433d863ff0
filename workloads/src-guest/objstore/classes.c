/* The classes and their operations, reached through the class table. */
#include "store.h"

/* The first eight letters, so that trees order by name. */
static uint64_t name_key(const char *name)
{
    uint64_t key = 0;
    for (int i = 0; i < 8; i++) {
        key = key << 8 | (unsigned char)*name;
        if (*name)
            name++;
    }
    return key;
}

static NOINLINE uint64_t person_key(const struct object *o) { return name_key(((const struct person *)o)->name); }
static NOINLINE uint64_t account_key(const struct object *o) { return ((const struct account *)o)->owner; }
static NOINLINE uint64_t item_key(const struct object *o) { return (uint64_t)((const struct item *)o)->price; }
static NOINLINE uint64_t order_key(const struct object *o)
{
    const struct order *r = (const struct order *)o;
    return (uint64_t)r->day << 32 | r->buyer;
}

static NOINLINE uint64_t person_digest(const struct object *o)
{
    const struct person *p = (const struct person *)o;
    uint64_t sum = checksum_bytes(CHECKSUM_START, p->name, strlen(p->name));
    return sum ^ p->city ^ (uint64_t)p->account << 32 ^ p->last_order;
}

static NOINLINE uint64_t account_digest(const struct object *o)
{
    const struct account *a = (const struct account *)o;
    return (uint64_t)a->balance * 31 + a->postings * 7 + a->owner;
}

static NOINLINE uint64_t item_digest(const struct object *o)
{
    const struct item *i = (const struct item *)o;
    return checksum_bytes(CHECKSUM_START, i->name, strlen(i->name)) + (uint64_t)(int64_t)i->price * 101 + (uint64_t)(int64_t)i->stock;
}

static NOINLINE uint64_t order_digest(const struct object *o)
{
    const struct order *r = (const struct order *)o;
    uint64_t sum = checksum_word(CHECKSUM_START, (uint64_t)r->buyer << 32 | r->previous);
    for (uint32_t i = 0; i < r->line_count; i++)
        sum = checksum_word(sum, (uint64_t)r->item[i] << 32 | (uint32_t)r->amount[i]);
    return sum + r->day;
}

static int person_valid(const struct object *o) { return ((const struct person *)o)->name[0] != 0; }
static int account_valid(const struct object *o) { return ((const struct account *)o)->balance >= 0; }
static int item_valid(const struct object *o)
{
    const struct item *i = (const struct item *)o;
    return i->price > 0 && i->stock >= 0;
}
static int order_valid(const struct object *o)
{
    const struct order *r = (const struct order *)o;
    return r->line_count > 0 && r->line_count <= MAX_LINES && r->buyer != 0;
}

const struct class classes[CLASS_COUNT] = {
    {"person", sizeof(struct person), person_key, person_digest, person_valid},
    {"account", sizeof(struct account), account_key, account_digest, account_valid},
    {"item", sizeof(struct item), item_key, item_digest, item_valid},
    {"order", sizeof(struct order), order_key, order_digest, order_valid},
};
