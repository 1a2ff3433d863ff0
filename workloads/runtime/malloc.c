/* The allocator: blocks of up to SMALL_MAX bytes come from one free list for each size, larger ones
 * from an address-ordered list that is searched first-fit and whose neighbours are merged. */
#include "rt.h"

#define GRANULE 16
#define SMALL_MAX 512
#define CHUNK (64 * 1024)

/* Sits in front of every block; 16 bytes keep the payload aligned for any type. */
struct header {
    size_t size; /* payload bytes, a multiple of GRANULE */
    struct header *next;
};

static struct header *small_free[SMALL_MAX / GRANULE + 1];
static struct header *large_free;
static char *arena, *arena_end;
static size_t live_blocks;

/* Takes bytes from the end of the data segment, growing it by whole chunks. */
static NOINLINE void *grow(size_t bytes)
{
    if (arena == 0) {
        uintptr_t start = (uintptr_t)rt_sys_brk(0);
        arena = arena_end = (char *)((start + GRANULE - 1) & ~(uintptr_t)(GRANULE - 1));
    }
    if ((size_t)(arena_end - arena) < bytes) {
        size_t more = (bytes + CHUNK - 1) / CHUNK * CHUNK;
        char *end = arena_end + more;
        if ((char *)rt_sys_brk(end) < end)
            rt_fail("out of memory");
        arena_end = end;
    }
    void *p = arena;
    arena += bytes;
    return p;
}

/* Cuts a free block so that it keeps exactly `size` bytes, if the rest can hold a block. */
static void split(struct header *block, size_t size)
{
    if (block->size < size + sizeof(struct header) + SMALL_MAX + GRANULE)
        return;
    struct header *rest = (struct header *)((char *)(block + 1) + size);
    rest->size = block->size - size - sizeof(struct header);
    rest->next = block->next;
    block->next = rest;
    block->size = size;
}

static NOINLINE struct header *take_large(size_t size)
{
    for (struct header **link = &large_free; *link; link = &(*link)->next) {
        struct header *block = *link;
        if (block->size >= size) {
            split(block, size);
            *link = block->next;
            return block;
        }
    }
    struct header *block = grow(sizeof(struct header) + size);
    block->size = size;
    return block;
}

/* Joins `block` with the next free one if nothing lies between them. */
static void merge_with_next(struct header *block)
{
    struct header *next = block->next;
    if (next && (char *)(block + 1) + block->size == (char *)next) {
        block->size += sizeof(struct header) + next->size;
        block->next = next->next;
    }
}

static NOINLINE void give_large(struct header *block)
{
    struct header *before = 0, *after = large_free;
    while (after && after < block) {
        before = after;
        after = after->next;
    }
    block->next = after;
    if (before)
        before->next = block;
    else
        large_free = block;
    merge_with_next(block);
    if (before)
        merge_with_next(before);
}

void *malloc(size_t size)
{
    struct header *block;
    if (size > SIZE_MAX / 2)
        rt_fail("out of memory");
    size = (size + GRANULE - 1) & ~(size_t)(GRANULE - 1);
    if (size == 0)
        size = GRANULE;
    if (size <= SMALL_MAX) {
        struct header **list = &small_free[size / GRANULE];
        block = *list;
        if (block) {
            *list = block->next;
        } else {
            block = grow(sizeof(struct header) + size);
            block->size = size;
        }
    } else {
        block = take_large(size);
    }
    live_blocks++;
    return block + 1;
}

void free(void *p)
{
    if (p == 0)
        return;
    struct header *block = (struct header *)p - 1;
    live_blocks--;
    if (block->size <= SMALL_MAX) {
        struct header **list = &small_free[block->size / GRANULE];
        block->next = *list;
        *list = block;
    } else {
        give_large(block);
    }
}

void *calloc(size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        rt_fail("out of memory");
    return memset(malloc(n * size), 0, n * size);
}

void *realloc(void *p, size_t size)
{
    if (p == 0)
        return malloc(size);
    size_t old = ((struct header *)p - 1)->size;
    if (size <= old)
        return p;
    void *bigger = malloc(size);
    memcpy(bigger, p, old);
    free(p);
    return bigger;
}

size_t rt_live_blocks(void)
{
    return live_blocks;
}
