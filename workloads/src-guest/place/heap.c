/* A binary heap; equal keys are ordered by point, so that the order is fixed. */
#include "place.h"

void heap_init(struct heap *h, int limit)
{
    h->items = malloc((size_t)limit * sizeof(*h->items));
    h->size = 0;
    h->limit = limit;
}

static inline int before(struct heap_item a, struct heap_item b)
{
    return a.key < b.key || (a.key == b.key && a.point < b.point);
}

NOINLINE void heap_push(struct heap *h, double key, int point)
{
    struct heap_item item = {key, point};
    if (h->size == h->limit)
        rt_fail("the heap is full");
    int at = h->size++;
    while (at > 0 && before(item, h->items[(at - 1) / 2])) {
        h->items[at] = h->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->items[at] = item;
}

NOINLINE struct heap_item heap_pop(struct heap *h)
{
    struct heap_item top = h->items[0], moved = h->items[--h->size];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= h->size)
            break;
        if (child + 1 < h->size && before(h->items[child + 1], h->items[child]))
            child++;
        if (!before(h->items[child], moved))
            break;
        h->items[at] = h->items[child];
        at = child;
    }
    h->items[at] = moved;
    return top;
}
