/* Characters to tokens, with names interned in a hash table. */
#include "minicc.h"

static const struct {
    const char *word;
    enum token_kind kind;
} keywords[] = {
    {"func", T_FUNC}, {"var", T_VAR},     {"array", T_ARRAY},   {"if", T_IF},
    {"else", T_ELSE}, {"while", T_WHILE}, {"return", T_RETURN}, {"print", T_PRINT},
};

void lexer_start(struct lexer *l, const char *text)
{
    memset(l, 0, sizeof(*l));
    l->at = text;
    l->line = 1;
    lexer_next(l);
}

void lexer_free(struct lexer *l)
{
    for (size_t i = 0; i < ARRAY_LEN(l->names); i++)
        while (l->names[i]) {
            struct name *n = l->names[i];
            l->names[i] = n->next;
            free(n);
        }
}

static inline int is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
static inline int is_digit(char c) { return c >= '0' && c <= '9'; }

static NOINLINE void skip_blanks(struct lexer *l)
{
    for (;; l->at++) {
        if (*l->at == '\n')
            l->line++;
        else if (*l->at == '#')
            while (l->at[1] && l->at[1] != '\n')
                l->at++;
        else if (*l->at != ' ')
            return;
    }
}

static NOINLINE struct name *intern(struct lexer *l, const char *text, int length)
{
    uint32_t h = 5381;
    for (int i = 0; i < length; i++)
        h = h * 33 + (unsigned char)text[i];
    struct name **bucket = &l->names[h % ARRAY_LEN(l->names)];
    for (struct name *n = *bucket; n; n = n->next)
        if (strncmp(n->text, text, (size_t)length) == 0 && n->text[length] == 0)
            return n;
    if (length >= NAME_SIZE)
        rt_fail("a name is too long");
    struct name *n = malloc(sizeof(*n));
    memcpy(n->text, text, (size_t)length);
    n->text[length] = 0;
    n->local = n->array = n->function = -1;
    n->next = *bucket;
    *bucket = n;
    return n;
}

static NOINLINE void read_word(struct lexer *l)
{
    const char *start = l->at;
    while (is_letter(*l->at) || is_digit(*l->at))
        l->at++;
    int length = (int)(l->at - start);
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        if (strncmp(keywords[i].word, start, (size_t)length) == 0 && keywords[i].word[length] == 0) {
            l->token.kind = keywords[i].kind;
            return;
        }
    l->token.kind = T_NAME;
    l->token.name = intern(l, start, length);
}

static NOINLINE void read_number(struct lexer *l)
{
    l->token.kind = T_NUMBER;
    l->token.value = 0;
    for (; is_digit(*l->at); l->at++)
        l->token.value = l->token.value * 10 + (*l->at - '0');
    if (l->token.value > INT32_MAX)
        rt_fail("a number is too large");
}

static NOINLINE void read_operator(struct lexer *l)
{
    char first = *l->at++, second = *l->at;
    int twice = (first == second && (first == '&' || first == '|')) ||
                (second == '=' && (first == '<' || first == '>' || first == '=' || first == '!'));
    l->token.kind = T_OPERATOR;
    l->token.spelling[0] = first;
    l->token.spelling[1] = twice ? second : 0;
    l->token.spelling[2] = 0;
    l->at += twice;
}

NOINLINE void lexer_next(struct lexer *l)
{
    skip_blanks(l);
    l->tokens++;
    if (*l->at == 0)
        l->token.kind = T_END;
    else if (is_letter(*l->at))
        read_word(l);
    else if (is_digit(*l->at))
        read_number(l);
    else
        read_operator(l);
}
