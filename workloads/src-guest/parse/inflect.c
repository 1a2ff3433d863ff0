/* Inflection: endings that a class may take, and how to take them off again. */
#include "parse.h"

struct ending {
    const char *text;
    uint32_t classes;
};

static const struct ending endings[] = {
    {"s", 1 << NOUN | 1 << VERB | 1 << TRANSITIVE | 1 << SAYING},
    {"es", 1 << NOUN},
    {"ed", 1 << VERB | 1 << TRANSITIVE | 1 << SAYING},
    {"ing", 1 << VERB | 1 << TRANSITIVE},
    {"ly", 1 << ADVERB},
    {"er", 1 << ADJECTIVE},
    {"est", 1 << ADJECTIVE},
    {"ness", 1 << NOUN},
};

int inflect(struct rng *rng, const struct entry *e, int class, char *out)
{
    int n = (int)strlen(e->stem);
    memcpy(out, e->stem, (size_t)n);
    const struct ending *ending = &endings[rng_below(rng, ARRAY_LEN(endings))];
    if (ending->classes >> class & 1) {
        int more = (int)strlen(ending->text);
        memcpy(out + n, ending->text, (size_t)more);
        n += more;
    }
    return n;
}

static NOINLINE int ends_with(const char *text, int length, const char *ending, int ending_length)
{
    return length > ending_length && strncmp(text + length - ending_length, ending, (size_t)ending_length) == 0;
}

/* All ways of cutting the word count together; the longest stem names it. */
NOINLINE int analyse(const char *text, int length, struct word *out)
{
    const struct entry *e = dictionary_find(text, length);
    out->number = e ? e->number : 0;
    out->classes = e ? e->classes : 0;
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        int cut = (int)strlen(endings[i].text);
        if (!ends_with(text, length, endings[i].text, cut))
            continue;
        e = dictionary_find(text, length - cut);
        if (e && (e->classes & endings[i].classes)) {
            out->classes |= e->classes & endings[i].classes;
            if (out->number == 0)
                out->number = e->number | (uint32_t)(i + 1) << 16;
        }
    }
    return out->classes != 0;
}
