/* Parsing of generated sentences with an ambiguous grammar: text to words, words to dictionary
 * entries through their inflections, then a recursive parser with memory that counts all readings
 * and keeps the cheapest. */
#ifndef PARSE_H
#define PARSE_H

#include "rt.h"

enum { MAX_WORDS = 48, MAX_TEXT = 1024 };

/* Symbols of the grammar: word classes first, then phrases. */
enum symbol {
    NOUN, VERB, TRANSITIVE, SAYING, DETERMINER, ADJECTIVE, ADVERB, PREPOSITION, CONJUNCTION, RELATIVE,
    THAT, WORD_CLASSES,
    SENTENCE = WORD_CLASSES, CLAUSE, NOUN_PHRASE, NOMINAL, VERB_PHRASE, VERB_CORE, PREP_PHRASE, RELATIVE_CLAUSE,
    AND_CLAUSE, AND_NOUN, THAT_CLAUSE, SYMBOL_COUNT,
    NONE = SYMBOL_COUNT
};

struct tree;
/* What a rule means: combines the meanings of its parts. */
typedef uint64_t meaning(const struct tree *t);

/* left -> first second (or first alone); a dearer rule is the less likely one. */
struct rule {
    uint8_t left, first, second;
    int cost;
    meaning *mean;
};
extern const struct rule rules[];
extern const int rule_count;

struct tree {
    const struct rule *rule; /* NULL at a word */
    int from, to, symbol;
    uint32_t word;
    struct tree *first, *second;
};
uint64_t tree_meaning(const struct tree *t);

/* Dictionary (dictionary.c).  Classes are sets of bits 1 << symbol. */
struct entry {
    char stem[16];
    uint32_t classes, number;
    struct entry *next;
};
void dictionary_build(struct rng *rng);
void dictionary_free(void);
const struct entry *dictionary_find(const char *stem, int length);
const struct entry *dictionary_pick(struct rng *rng, int class);

/* Inflection (inflect.c). */
struct word {
    uint32_t number, classes;
};
/* Writes a stem in a form that the class allows; returns the length. */
int inflect(struct rng *rng, const struct entry *e, int class, char *out);
/* Finds the stem of a written form; 0 if the word is unknown. */
int analyse(const char *text, int length, struct word *out);

/* Text (text.c). */
int generate_sentence(struct rng *rng, char *out, int limit);
int split_words(const char *text, struct word *words);

/* Parser (chart.c). */
struct reading {
    uint64_t count; /* number of parses, modulo 2^64 */
    int cost, split;
    const struct rule *rule;
    int done;
};
struct parser {
    const struct word *words;
    int count;
    struct reading memory[SYMBOL_COUNT][MAX_WORDS][MAX_WORDS + 1];
    long lookups, computed;
    int depth, deepest;
};
const struct reading *parse_span(struct parser *p, int symbol, int from, int to);
void parser_start(struct parser *p, const struct word *words, int count);
struct tree *build_tree(struct parser *p, int symbol, int from, int to);
void free_tree(struct tree *t);

/* Tagger (tagger.c): learns from trees which word class follows which, and then finds the most likely
 * classes of a sentence without parsing it. */
struct tagger {
    uint32_t follows[WORD_CLASSES + 1][WORD_CLASSES], total[WORD_CLASSES + 1];
    int cost[WORD_CLASSES + 1][WORD_CLASSES]; /* 16ths of a bit */
};
void tagger_learn(struct tagger *g, const struct tree *t);
void tagger_prepare(struct tagger *g);
/* The cost of the best classes, which are left in `tags`. */
int tagger_tag(struct tagger *g, const struct word *words, int count, uint8_t *tags);

#endif
