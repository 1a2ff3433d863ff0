/* parse: writes sentences, parses them, prints how ambiguous and how deep they were, and tags more text
 * with what the parses have taught. */
#include "parse.h"

struct totals {
    long sentences, words, ambiguous, nodes;
    uint64_t readings, meanings;
};

static int tree_height(const struct tree *t)
{
    if (!t)
        return 0;
    int a = tree_height(t->first), b = tree_height(t->second);
    return 1 + (a > b ? a : b);
}

static long tree_nodes(const struct tree *t)
{
    return t ? 1 + tree_nodes(t->first) + tree_nodes(t->second) : 0;
}

static struct tagger tagger;

static NOINLINE int read_sentence(struct parser *p, const char *text, struct totals *t)
{
    struct word words[MAX_WORDS];
    int count = split_words(text, words);
    if (count < 0)
        rt_fail("a word is unknown");
    parser_start(p, words, count);
    const struct reading *r = parse_span(p, SENTENCE, 0, count);
    if (!r->rule)
        rt_fail("a generated sentence has no parse");
    struct tree *tree = build_tree(p, SENTENCE, 0, count);
    int height = tree_height(tree);
    t->sentences++;
    t->words += count;
    t->ambiguous += r->count != 1;
    t->nodes += tree_nodes(tree);
    t->readings += r->count;
    t->meanings = checksum_word(t->meanings, tree_meaning(tree));
    tagger_learn(&tagger, tree);
    free_tree(tree);
    return height;
}

/* Sentences of at least `shortest` words; longer ones are far more ambiguous. */
static NOINLINE void read_text(struct parser *p, struct rng *rng, int sentences, int shortest)
{
    static char text[MAX_TEXT];
    struct totals t = {0, 0, 0, 0, 0, CHECKSUM_START};
    int highest = 0;
    p->lookups = p->computed = 0;
    p->deepest = 0;
    while (t.sentences < sentences) {
        if (generate_sentence(rng, text, MAX_TEXT) < shortest)
            continue;
        int height = read_sentence(p, text, &t);
        highest = height > highest ? height : highest;
    }
    printf("sentences %ld words %ld ambiguous %ld readings %lu\n", t.sentences, t.words, t.ambiguous,
           (unsigned long)t.readings);
    printf("  nodes %ld highest %d deepest %d lookups %ld computed %ld meanings %016lx\n", t.nodes, highest, p->deepest,
           p->lookups, p->computed, (unsigned long)t.meanings);
}

/* Tags new text with what was learnt; every word must get a class that it has. */
static NOINLINE void tag_text(struct rng *rng, int sentences)
{
    static char text[MAX_TEXT];
    struct word words[MAX_WORDS];
    uint8_t tags[MAX_WORDS];
    long tagged = 0, ambiguous = 0, cost = 0;
    uint64_t sum = CHECKSUM_START;
    tagger_prepare(&tagger);
    for (int i = 0; i < sentences;) {
        if (generate_sentence(rng, text, MAX_TEXT) < 6)
            continue;
        int count = split_words(text, words);
        cost += tagger_tag(&tagger, words, count, tags);
        for (int k = 0; k < count; k++) {
            if (!(words[k].classes >> tags[k] & 1))
                rt_fail("a word got a class that it does not have");
            ambiguous += (words[k].classes & (words[k].classes - 1)) != 0;
        }
        sum = checksum_bytes(sum, tags, (size_t)count);
        tagged += count;
        i++;
    }
    printf("tagged %ld words ambiguous %ld cost %ld tags %016lx\n", tagged, ambiguous, cost, (unsigned long)sum);
}

int main(int argc, char **argv)
{
    int large = workload_size(argc, argv) == WORKLOAD_LARGE;
    struct rng rng;
    rng_seed(&rng, 1993);
    dictionary_build(&rng);
    struct parser *p = malloc(sizeof(*p));
    memset(p, 0, sizeof(*p));
    read_text(p, &rng, large ? 220 : 3, 4);
    read_text(p, &rng, large ? 100 : 2, 16);
    read_text(p, &rng, large ? 40 : 1, 28);
    tag_text(&rng, large ? 3000 : 25);
    free(p);
    dictionary_free();
    if (rt_live_blocks() != 0)
        rt_fail("blocks leaked");
    return 0;
}
