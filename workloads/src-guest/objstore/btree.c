/* B-trees with entries in all nodes.  Nodes are split on the way down when they are full, and filled
 * up on the way down of a removal when they are at their minimum. */
#include "store.h"

enum { ORDER_T = 8, MAX_ENTRIES = 2 * ORDER_T - 1 };

struct entry {
    uint64_t key;
    handle id;
};

struct node {
    int count, leaf;
    struct entry entries[MAX_ENTRIES];
    struct node *children[MAX_ENTRIES + 1];
};

struct btree {
    struct node *root;
};

static struct node *node_new(int leaf)
{
    struct node *n = malloc(sizeof(*n));
    n->count = 0;
    n->leaf = leaf;
    return n;
}

struct btree *btree_new(void)
{
    struct btree *t = malloc(sizeof(*t));
    t->root = node_new(1);
    return t;
}

static void node_free(struct node *n)
{
    if (!n->leaf)
        for (int i = 0; i <= n->count; i++)
            node_free(n->children[i]);
    free(n);
}

void btree_free(struct btree *t)
{
    node_free(t->root);
    free(t);
}

static inline int entry_less(struct entry a, struct entry b)
{
    return a.key != b.key ? a.key < b.key : a.id < b.id;
}

/* The first place in the node whose entry is not less. */
static NOINLINE int node_search(const struct node *n, struct entry e)
{
    int low = 0, high = n->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (entry_less(n->entries[middle], e))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static NOINLINE void open_gap(struct node *n, int at)
{
    for (int i = n->count; i > at; i--)
        n->entries[i] = n->entries[i - 1];
    if (!n->leaf)
        for (int i = n->count + 1; i > at + 1; i--)
            n->children[i] = n->children[i - 1];
    n->count++;
}

/* Splits the full child `at` of a node that has room. */
static NOINLINE void split_child(struct node *parent, int at)
{
    struct node *left = parent->children[at], *right = node_new(left->leaf);
    right->count = ORDER_T - 1;
    memcpy(right->entries, left->entries + ORDER_T, (ORDER_T - 1) * sizeof(struct entry));
    if (!left->leaf)
        memcpy(right->children, left->children + ORDER_T, ORDER_T * sizeof(struct node *));
    left->count = ORDER_T - 1;
    open_gap(parent, at);
    parent->entries[at] = left->entries[ORDER_T - 1];
    parent->children[at + 1] = right;
}

void btree_insert(struct btree *t, uint64_t key, handle id)
{
    struct entry e = {key, id};
    if (t->root->count == MAX_ENTRIES) {
        struct node *root = node_new(0);
        root->children[0] = t->root;
        t->root = root;
        split_child(root, 0);
    }
    struct node *n = t->root;
    while (!n->leaf) {
        int at = node_search(n, e);
        if (n->children[at]->count == MAX_ENTRIES) {
            split_child(n, at);
            at += entry_less(n->entries[at], e);
        }
        n = n->children[at];
    }
    int at = node_search(n, e);
    open_gap(n, at);
    n->entries[at] = e;
}

static NOINLINE void close_gap(struct node *n, int at)
{
    for (int i = at; i + 1 < n->count; i++)
        n->entries[i] = n->entries[i + 1];
    if (!n->leaf)
        for (int i = at + 1; i < n->count; i++)
            n->children[i] = n->children[i + 1];
    n->count--;
}

/* Joins child `at`, the entry after it and the next child into one node. */
static NOINLINE void join_children(struct node *parent, int at)
{
    struct node *left = parent->children[at], *right = parent->children[at + 1];
    left->entries[left->count] = parent->entries[at];
    memcpy(left->entries + left->count + 1, right->entries, (size_t)right->count * sizeof(struct entry));
    if (!left->leaf)
        memcpy(left->children + left->count + 1, right->children, ((size_t)right->count + 1) * sizeof(struct node *));
    left->count += right->count + 1;
    close_gap(parent, at);
    free(right);
}

static NOINLINE void borrow_from_left(struct node *parent, int at)
{
    struct node *child = parent->children[at], *left = parent->children[at - 1];
    struct node *first = child->leaf ? 0 : child->children[0];
    open_gap(child, 0);
    if (!child->leaf) {
        child->children[1] = first;
        child->children[0] = left->children[left->count];
    }
    child->entries[0] = parent->entries[at - 1];
    parent->entries[at - 1] = left->entries[--left->count];
}

static NOINLINE void borrow_from_right(struct node *parent, int at)
{
    struct node *child = parent->children[at], *right = parent->children[at + 1];
    child->entries[child->count++] = parent->entries[at];
    parent->entries[at] = right->entries[0];
    if (!child->leaf) {
        child->children[child->count] = right->children[0];
        right->children[0] = right->children[1];
    }
    close_gap(right, 0);
}

/* Makes sure that child `at` can lose an entry; returns where the child is then. */
static NOINLINE int fill_child(struct node *parent, int at)
{
    if (parent->children[at]->count >= ORDER_T)
        return at;
    if (at > 0 && parent->children[at - 1]->count >= ORDER_T) {
        borrow_from_left(parent, at);
    } else if (at < parent->count && parent->children[at + 1]->count >= ORDER_T) {
        borrow_from_right(parent, at);
    } else {
        if (at == parent->count)
            at--;
        join_children(parent, at);
    }
    return at;
}

static struct entry last_entry(const struct node *n)
{
    while (!n->leaf)
        n = n->children[n->count];
    return n->entries[n->count - 1];
}

static struct entry first_entry(const struct node *n)
{
    while (!n->leaf)
        n = n->children[0];
    return n->entries[0];
}

static NOINLINE int node_remove(struct node *n, struct entry e)
{
    int at = node_search(n, e);
    int here = at < n->count && !entry_less(e, n->entries[at]);
    if (n->leaf) {
        if (here)
            close_gap(n, at);
        return here;
    }
    if (!here)
        return node_remove(n->children[fill_child(n, at)], e);
    if (n->children[at]->count >= ORDER_T) {
        n->entries[at] = last_entry(n->children[at]);
        return node_remove(n->children[at], n->entries[at]);
    }
    if (n->children[at + 1]->count >= ORDER_T) {
        n->entries[at] = first_entry(n->children[at + 1]);
        return node_remove(n->children[at + 1], n->entries[at]);
    }
    join_children(n, at);
    return node_remove(n->children[at], e);
}

int btree_remove(struct btree *t, uint64_t key, handle id)
{
    struct entry e = {key, id};
    int removed = node_remove(t->root, e);
    if (t->root->count == 0 && !t->root->leaf) {
        struct node *old = t->root;
        t->root = old->children[0];
        free(old);
    }
    return removed;
}

struct scan {
    struct entry from;
    btree_visitor *visit;
    void *context;
    long visited;
};

static NOINLINE int node_scan(const struct node *n, struct scan *s)
{
    int at = s->visited ? 0 : node_search(n, s->from);
    for (; at <= n->count; at++) {
        if (!n->leaf && !node_scan(n->children[at], s))
            return 0;
        if (at == n->count)
            break;
        s->visited++;
        if (!s->visit(n->entries[at].key, n->entries[at].id, s->context))
            return 0;
    }
    return 1;
}

long btree_scan(const struct btree *t, uint64_t from, btree_visitor *visit, void *context)
{
    struct scan s = {{from, 0}, visit, context, 0};
    node_scan(t->root, &s);
    return s.visited;
}

int btree_height(const struct btree *t)
{
    int height = 1;
    for (const struct node *n = t->root; !n->leaf; n = n->children[0])
        height++;
    return height;
}

static NOINLINE long node_check(const struct node *n, const struct node *root, int depth, int height)
{
    long entries = n->count;
    if (n->count > MAX_ENTRIES || (n != root && n->count < ORDER_T - 1) || n->leaf != (depth == height))
        rt_fail("a tree node has a wrong shape");
    for (int i = 1; i < n->count; i++)
        if (!entry_less(n->entries[i - 1], n->entries[i]))
            rt_fail("a tree node is out of order");
    if (!n->leaf)
        for (int i = 0; i <= n->count; i++)
            entries += node_check(n->children[i], root, depth + 1, height);
    return entries;
}

long btree_check(const struct btree *t)
{
    return node_check(t->root, t->root, 1, btree_height(t));
}
