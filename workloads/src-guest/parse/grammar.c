/* The grammar and what its rules mean.  A meaning is a number: enough to tell readings apart. */
#include "parse.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ a >> 29;
}

NOINLINE uint64_t tree_meaning(const struct tree *t)
{
    return t->rule ? t->rule->mean(t) : mix((uint64_t)t->symbol, t->word);
}

static NOINLINE uint64_t mean_same(const struct tree *t)
{
    return tree_meaning(t->first);
}

static NOINLINE uint64_t mean_statement(const struct tree *t)
{
    uint64_t subject = tree_meaning(t->first), predicate = tree_meaning(t->second);
    return mix(mix(1, subject), predicate);
}

static NOINLINE uint64_t mean_modified(const struct tree *t)
{
    return mix(tree_meaning(t->second), mix(2, tree_meaning(t->first)));
}

static NOINLINE uint64_t mean_attached(const struct tree *t)
{
    return mix(tree_meaning(t->first), mix(3, tree_meaning(t->second)));
}

static NOINLINE uint64_t mean_action(const struct tree *t)
{
    uint64_t verb = tree_meaning(t->first);
    return mix(mix(4, verb), tree_meaning(t->second));
}

/* Both orders of a conjunction mean the same. */
static NOINLINE uint64_t mean_joined(const struct tree *t)
{
    return tree_meaning(t->first) + tree_meaning(t->second);
}

static NOINLINE uint64_t mean_embedded(const struct tree *t)
{
    return mix(5, tree_meaning(t->second));
}

const struct rule rules[] = {
    {SENTENCE, CLAUSE, NONE, 0, mean_same},
    {SENTENCE, SENTENCE, AND_CLAUSE, 6, mean_joined},
    {AND_CLAUSE, CONJUNCTION, CLAUSE, 0, mean_embedded},
    {CLAUSE, NOUN_PHRASE, VERB_PHRASE, 0, mean_statement},
    {NOUN_PHRASE, DETERMINER, NOMINAL, 0, mean_modified},
    {NOUN_PHRASE, NOUN_PHRASE, PREP_PHRASE, 5, mean_attached},
    {NOUN_PHRASE, NOUN_PHRASE, RELATIVE_CLAUSE, 7, mean_attached},
    {NOUN_PHRASE, NOUN_PHRASE, AND_NOUN, 6, mean_joined},
    {AND_NOUN, CONJUNCTION, NOUN_PHRASE, 0, mean_embedded},
    {NOMINAL, NOUN, NONE, 0, mean_same},
    {NOMINAL, ADJECTIVE, NOMINAL, 2, mean_modified},
    {NOMINAL, NOUN, NOMINAL, 4, mean_modified},
    {VERB_PHRASE, VERB_CORE, NONE, 0, mean_same},
    {VERB_PHRASE, VERB_PHRASE, PREP_PHRASE, 4, mean_attached},
    {VERB_PHRASE, ADVERB, VERB_PHRASE, 3, mean_modified},
    {VERB_PHRASE, VERB_PHRASE, ADVERB, 3, mean_attached},
    {VERB_CORE, VERB, NONE, 2, mean_same},
    {VERB_CORE, TRANSITIVE, NOUN_PHRASE, 0, mean_action},
    {VERB_CORE, SAYING, THAT_CLAUSE, 3, mean_action},
    {THAT_CLAUSE, THAT, CLAUSE, 0, mean_embedded},
    {PREP_PHRASE, PREPOSITION, NOUN_PHRASE, 0, mean_action},
    {RELATIVE_CLAUSE, RELATIVE, VERB_PHRASE, 0, mean_embedded},
};
const int rule_count = ARRAY_LEN(rules);
