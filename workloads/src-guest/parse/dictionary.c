/* The dictionary: made-up stems with word classes, found through a hash table. */
#include "parse.h"

enum { BUCKETS = 512, OPEN_STEMS = 900 };

static struct entry *buckets[BUCKETS];
static const struct entry *by_class[WORD_CLASSES][OPEN_STEMS];
static int class_size[WORD_CLASSES];
static uint32_t entries;

static NOINLINE uint32_t hash_stem(const char *stem, int length)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < length; i++)
        h = (h ^ (unsigned char)stem[i]) * 16777619u;
    return h ^ h >> 15;
}

NOINLINE const struct entry *dictionary_find(const char *stem, int length)
{
    for (const struct entry *e = buckets[hash_stem(stem, length) % BUCKETS]; e; e = e->next)
        if (strncmp(e->stem, stem, (size_t)length) == 0 && e->stem[length] == 0)
            return e;
    return 0;
}

static NOINLINE void add_entry(const char *stem, uint32_t classes)
{
    struct entry *e = malloc(sizeof(*e));
    uint32_t h = hash_stem(stem, (int)strlen(stem)) % BUCKETS;
    strcpy(e->stem, stem);
    e->classes = classes;
    e->number = ++entries;
    e->next = buckets[h];
    buckets[h] = e;
    for (int c = 0; c < WORD_CLASSES; c++)
        if (classes >> c & 1 && class_size[c] < OPEN_STEMS)
            by_class[c][class_size[c]++] = e;
}

static NOINLINE int make_stem(struct rng *rng, char *out)
{
    static const char onsets[] = "bdfgklmnprtvz", vowels[] = "aeiou";
    int n = 0, parts = 2 + (int)rng_below(rng, 2);
    for (int i = 0; i < parts; i++) {
        out[n++] = onsets[rng_below(rng, sizeof(onsets) - 1)];
        out[n++] = vowels[rng_below(rng, sizeof(vowels) - 1)];
    }
    out[n++] = onsets[rng_below(rng, sizeof(onsets) - 1)];
    out[n] = 0;
    return n;
}

/* Open classes overlap, which is one source of ambiguity. */
static uint32_t open_classes(struct rng *rng)
{
    static const uint32_t choices[] = {
        1 << NOUN, 1 << NOUN, 1 << NOUN | 1 << VERB, 1 << VERB, 1 << TRANSITIVE, 1 << TRANSITIVE | 1 << VERB,
        1 << NOUN | 1 << TRANSITIVE, 1 << ADJECTIVE, 1 << ADJECTIVE | 1 << NOUN, 1 << ADVERB, 1 << SAYING,
    };
    return choices[rng_below(rng, ARRAY_LEN(choices))];
}

void dictionary_build(struct rng *rng)
{
    static const char *const closed[] = {"the", "a", "some", "in", "with", "near", "of", "and", "or", "which", "that"};
    static const uint8_t classes[] = {DETERMINER,  DETERMINER,  DETERMINER,  PREPOSITION, PREPOSITION, PREPOSITION,
                                      PREPOSITION, CONJUNCTION, CONJUNCTION, RELATIVE,    THAT};
    for (size_t i = 0; i < ARRAY_LEN(closed); i++)
        add_entry(closed[i], 1u << classes[i]);
    for (int i = 0; i < OPEN_STEMS; i++) {
        char stem[16];
        int length = make_stem(rng, stem);
        if (!dictionary_find(stem, length))
            add_entry(stem, open_classes(rng));
    }
}

void dictionary_free(void)
{
    for (int i = 0; i < BUCKETS; i++)
        while (buckets[i]) {
            struct entry *e = buckets[i];
            buckets[i] = e->next;
            free(e);
        }
}

const struct entry *dictionary_pick(struct rng *rng, int class)
{
    if (class_size[class] == 0)
        rt_fail("an empty word class");
    /* Low numbers are picked more often. */
    uint32_t limit = 1 + rng_below(rng, (uint32_t)class_size[class]);
    return by_class[class][rng_below(rng, limit)];
}
