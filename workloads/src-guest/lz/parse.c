/* How the input is cut into literals and matches. */
#include "lz.h"

static int put_literal(struct token *t, int count, unsigned char byte)
{
    t[count].length = byte;
    t[count].distance = 0;
    return count + 1;
}

static NOINLINE int put_match(struct token *t, int count, struct match m)
{
    t[count].length = (uint16_t)m.length;
    t[count].distance = (uint16_t)m.distance;
    return count + 1;
}

static NOINLINE void insert_span(struct finder *f, int from, int to)
{
    for (int i = from; i < to; i++)
        finder_insert(f, i);
}

/* One candidate, and the inside of a match is not entered in the chains. */
static NOINLINE int parse_fast(struct finder *f, const unsigned char *data, int n, struct token *tokens)
{
    int count = 0;
    for (int at = 0; at < n;) {
        struct match m = finder_search(f, at, 1);
        finder_insert(f, at);
        if (m.length) {
            count = put_match(tokens, count, m);
            at += m.length;
        } else {
            count = put_literal(tokens, count, data[at++]);
        }
    }
    return count;
}

static NOINLINE int parse_greedy(struct finder *f, const unsigned char *data, int n, struct token *tokens)
{
    int count = 0;
    for (int at = 0; at < n;) {
        struct match m = finder_search(f, at, 16);
        int length = m.length ? m.length : 1;
        insert_span(f, at, at + length);
        count = m.length ? put_match(tokens, count, m) : put_literal(tokens, count, data[at]);
        at += length;
    }
    return count;
}

/* Puts a match off by one byte if a longer one starts there. */
static NOINLINE int parse_lazy(struct finder *f, const unsigned char *data, int n, struct token *tokens)
{
    int count = 0;
    struct match m = finder_search(f, 0, 64);
    for (int at = 0; at < n;) {
        finder_insert(f, at);
        struct match next = {0, 0};
        if (at + 1 < n && m.length < 64)
            next = finder_search(f, at + 1, m.length > 8 ? 16 : 64);
        if (m.length == 0 || next.length > m.length) {
            count = put_literal(tokens, count, data[at++]);
            m = next;
            continue;
        }
        insert_span(f, at + 1, at + m.length);
        count = put_match(tokens, count, m);
        at += m.length;
        m = at < n ? finder_search(f, at, 64) : next;
    }
    return count;
}

const struct strategy strategies[] = {
    {"fast", parse_fast},
    {"greedy", parse_greedy},
    {"lazy", parse_lazy},
};
const int strategy_count = ARRAY_LEN(strategies);
