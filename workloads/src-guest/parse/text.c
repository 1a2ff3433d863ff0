/* Sentences are made by following the grammar at random, and read back as words. */
#include "parse.h"

struct writer {
    struct rng *rng;
    char *out;
    int length, limit, words;
};

static NOINLINE void write_word(struct writer *w, int class)
{
    char form[32];
    const struct entry *e = dictionary_pick(w->rng, class);
    int n = inflect(w->rng, e, class, form);
    if (w->length + n + 2 > w->limit)
        return;
    memcpy(w->out + w->length, form, (size_t)n);
    w->length += n;
    w->out[w->length++] = ' ';
    w->words++;
}

/* A rule for the symbol: the deeper the derivation, the more it keeps to the cheapest one. */
static NOINLINE const struct rule *choose_rule(struct writer *w, int symbol, int depth)
{
    const struct rule *chosen = 0;
    int total = 0;
    for (int i = 0; i < rule_count; i++) {
        if (rules[i].left != symbol)
            continue;
        int weight = depth > 9 && rules[i].cost > 2 ? 0 : 8 - rules[i].cost;
        total += weight;
        if (weight > 0 && (int)rng_below(w->rng, (uint32_t)total) < weight)
            chosen = &rules[i];
    }
    return chosen;
}

static NOINLINE void write_symbol(struct writer *w, int symbol, int depth)
{
    if (symbol == NONE)
        return;
    if (symbol < WORD_CLASSES) {
        write_word(w, symbol);
        return;
    }
    const struct rule *r = choose_rule(w, symbol, depth);
    write_symbol(w, r->first, depth + 1);
    write_symbol(w, r->second, depth + 1);
}

/* The number of words, 0 if the sentence did not fit. */
int generate_sentence(struct rng *rng, char *out, int limit)
{
    struct writer w = {rng, out, 0, limit - 1, 0};
    write_symbol(&w, SENTENCE, 0);
    out[w.length] = 0;
    return w.words <= MAX_WORDS && w.length < limit - 40 ? w.words : 0;
}

int split_words(const char *text, struct word *words)
{
    int count = 0;
    while (*text) {
        int n = 0;
        while (text[n] && text[n] != ' ')
            n++;
        if (n > 0) {
            if (count == MAX_WORDS || !analyse(text, n, &words[count++]))
                return -1;
        }
        text += n;
        while (*text == ' ')
            text++;
    }
    return count;
}
