/* The parser: each question "how is this span that symbol" is answered once, by recursion. */
#include "parse.h"

enum { NO_PARSE = 1 << 20 };

static const struct rule *rules_of[SYMBOL_COUNT][8];
static int rules_of_count[SYMBOL_COUNT];
static int shortest[SYMBOL_COUNT + 1]; /* fewest words a symbol can have */
/* Word classes with which a symbol can start and end. */
static uint32_t starts[SYMBOL_COUNT], ends[SYMBOL_COUNT];

static void index_rules(void)
{
    if (rules_of_count[SENTENCE] > 0)
        return;
    for (int i = 0; i < rule_count; i++)
        rules_of[rules[i].left][rules_of_count[rules[i].left]++] = &rules[i];
    for (int s = 0; s < SYMBOL_COUNT; s++) {
        shortest[s] = s < WORD_CLASSES ? 1 : MAX_WORDS;
        starts[s] = ends[s] = s < WORD_CLASSES ? 1u << s : 0;
    }
    /* Repeated until nothing can change any more. */
    for (int round = 0; round < SYMBOL_COUNT; round++)
        for (int i = 0; i < rule_count; i++) {
            const struct rule *r = &rules[i];
            int need = shortest[r->first] + shortest[r->second];
            if (need < shortest[r->left])
                shortest[r->left] = need;
            starts[r->left] |= starts[r->first];
            ends[r->left] |= ends[r->second == NONE ? r->first : r->second];
        }
}

void parser_start(struct parser *p, const struct word *words, int count)
{
    index_rules();
    p->words = words;
    p->count = count;
    p->depth = 0;
    for (int s = 0; s < SYMBOL_COUNT; s++)
        for (int i = 0; i < count; i++)
            for (int j = 0; j <= count; j++)
                p->memory[s][i][j].done = 0;
}

static NOINLINE void offer(struct reading *r, uint64_t count, int cost, const struct rule *rule, int split)
{
    r->count += count;
    if (cost < r->cost) {
        r->cost = cost;
        r->rule = rule;
        r->split = split;
    }
}

static NOINLINE void try_unary(struct parser *p, struct reading *r, const struct rule *rule, int from, int to)
{
    const struct reading *only = parse_span(p, rule->first, from, to);
    if (only->cost < NO_PARSE)
        offer(r, only->count, only->cost + rule->cost, rule, to);
}

static NOINLINE void try_binary(struct parser *p, struct reading *r, const struct rule *rule, int from, int to)
{
    int first_split = from + shortest[rule->first], last_split = to - shortest[rule->second];
    for (int split = first_split; split <= last_split; split++) {
        const struct reading *left = parse_span(p, rule->first, from, split);
        if (left->cost >= NO_PARSE)
            continue;
        const struct reading *right = parse_span(p, rule->second, split, to);
        if (right->cost < NO_PARSE)
            offer(r, left->count * right->count, left->cost + right->cost + rule->cost, rule, split);
    }
}

/* Whether the first and the last word allow the symbol at all. */
static NOINLINE int words_allow(const struct parser *p, int symbol, int from, int to)
{
    return to > from && (p->words[from].classes & starts[symbol]) && (p->words[to - 1].classes & ends[symbol]);
}

static NOINLINE void parse_word(struct parser *p, struct reading *r, int symbol, int from, int to)
{
    if (to - from == 1 && p->words[from].classes >> symbol & 1) {
        r->count = 1;
        r->cost = 1;
    }
}

/* What is known of a span; nothing yet if it is new. */
static NOINLINE struct reading *recall(struct parser *p, int symbol, int from, int to)
{
    struct reading *r = &p->memory[symbol][from][to];
    p->lookups++;
    return r;
}

const struct reading *parse_span(struct parser *p, int symbol, int from, int to)
{
    struct reading *r = recall(p, symbol, from, to);
    if (r->done)
        return r;
    r->count = 0;
    r->cost = NO_PARSE;
    r->rule = 0;
    r->done = 1;
    p->computed++;
    if (symbol < WORD_CLASSES) {
        parse_word(p, r, symbol, from, to);
        return r;
    }
    if (!words_allow(p, symbol, from, to))
        return r;
    if (++p->depth > p->deepest)
        p->deepest = p->depth;
    for (int i = 0; i < rules_of_count[symbol]; i++) {
        const struct rule *rule = rules_of[symbol][i];
        if (rule->second == NONE)
            try_unary(p, r, rule, from, to);
        else
            try_binary(p, r, rule, from, to);
    }
    p->depth--;
    return r;
}

struct tree *build_tree(struct parser *p, int symbol, int from, int to)
{
    const struct reading *r = parse_span(p, symbol, from, to);
    struct tree *t = calloc(1, sizeof(*t));
    t->rule = r->rule;
    t->from = from;
    t->to = to;
    t->symbol = symbol;
    if (symbol < WORD_CLASSES) {
        t->word = p->words[from].number;
        return t;
    }
    t->first = build_tree(p, r->rule->first, from, r->split);
    if (r->rule->second != NONE)
        t->second = build_tree(p, r->rule->second, r->split, to);
    return t;
}

void free_tree(struct tree *t)
{
    if (!t)
        return;
    free_tree(t->first);
    free_tree(t->second);
    free(t);
}
