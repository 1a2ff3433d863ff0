// Parses C sources with tree-sitter, walks the trees, with -q runs a query, and parses again after an
// edit. (Merely to compile the query takes 30 million instructions.)
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_c(void);

static const char QUERY[] = "(function_definition declarator: (_) @name)\n"
                            "(call_expression function: (identifier) @callee)\n"
                            "(if_statement condition: (_) @condition)\n"
                            "(struct_specifier name: (type_identifier) @type body: (_))\n";

static uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 1099511628211u; }

static char *read_file(const char *name, uint32_t *length) {
    FILE *file = fopen(name, "rb");
    if (!file) {
        fprintf(stderr, "%s cannot be read\n", name);
        exit(1);
    }
    char *text = NULL;
    size_t size = 0, got;
    do {
        text = realloc(text, size + 65536);
        got = fread(text + size, 1, 65536, file);
        size += got;
    } while (got > 0);
    fclose(file);
    *length = (uint32_t)size;
    return text;
}

static uint64_t walk(TSTree *tree, uint32_t *nodes) {
    uint64_t hash = 14695981039346656037u;
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
    for (;;) {
        TSNode node = ts_tree_cursor_current_node(&cursor);
        hash = mix(hash, ts_node_symbol(node));
        hash = mix(hash, ts_node_start_byte(node));
        hash = mix(hash, ts_node_end_byte(node));
        ++*nodes;
        if (ts_tree_cursor_goto_first_child(&cursor) || ts_tree_cursor_goto_next_sibling(&cursor))
            continue;
        do {
            if (!ts_tree_cursor_goto_parent(&cursor)) {
                ts_tree_cursor_delete(&cursor);
                return hash;
            }
        } while (!ts_tree_cursor_goto_next_sibling(&cursor));
    }
}

static uint64_t matches(TSQuery *query, TSTree *tree, uint32_t *count) {
    uint64_t hash = 14695981039346656037u;
    TSQueryCursor *cursor = ts_query_cursor_new();
    ts_query_cursor_exec(cursor, query, ts_tree_root_node(tree));
    TSQueryMatch match;
    while (ts_query_cursor_next_match(cursor, &match)) {
        ++*count;
        for (uint16_t n = 0; n < match.capture_count; n++)
            hash = mix(hash, match.captures[n].index * 65536u + ts_node_start_byte(match.captures[n].node));
    }
    ts_query_cursor_delete(cursor);
    return hash;
}

// A new statement in the middle of the text, which changes what is around it.
static TSTree *edited(TSParser *parser, TSTree *tree, const char *text, uint32_t length) {
    static const char INSERTED[] = "\nint inserted(int x) { return x ? 1 : inserted(x - 1); }\n";
    uint32_t at = length / 2, more = sizeof INSERTED - 1;
    while (at < length && text[at] != '\n')
        at++;
    char *changed = malloc(length + more);
    memcpy(changed, text, at);
    memcpy(changed + at, INSERTED, more);
    memcpy(changed + at + more, text + at, length - at);
    TSNode spot = ts_node_descendant_for_byte_range(ts_tree_root_node(tree), at, at);
    TSPoint point = ts_node_start_point(spot);
    TSInputEdit edit = {at, at, at + more, point, point, point};
    TSTree *old = ts_tree_copy(tree);
    ts_tree_edit(old, &edit);
    TSTree *new = ts_parser_parse_string(parser, old, changed, length + more);
    ts_tree_delete(old);
    free(changed);
    return new;
}

int main(int argc, char **argv) {
    TSParser *parser = ts_parser_new();
    if (!ts_parser_set_language(parser, tree_sitter_c())) {
        puts("the grammar is of another version");
        return 1;
    }
    TSQuery *query = NULL;
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "-q") == 0) {
        uint32_t at;
        TSQueryError error;
        query = ts_query_new(tree_sitter_c(), QUERY, sizeof QUERY - 1, &at, &error);
        if (!query) {
            printf("the query is wrong at %u\n", at);
            return 1;
        }
        first = 2;
    }
    for (int n = first; n < argc; n++) {
        uint32_t length, nodes = 0, again = 0, found = 0;
        char *text = read_file(argv[n], &length);
        TSTree *tree = ts_parser_parse_string(parser, NULL, text, length);
        uint64_t shape = walk(tree, &nodes);
        uint64_t hits = query ? matches(query, tree, &found) : 0;
        printf("%s: %u bytes, %u nodes %016llx, %u matches %016llx\n", argv[n], length, nodes,
               (unsigned long long)shape, found, (unsigned long long)hits);
        TSTree *other = edited(parser, tree, text, length);
        shape = walk(other, &again);
        printf("%s: after an edit %u nodes %016llx\n", argv[n], again, (unsigned long long)shape);
        ts_tree_delete(other);
        ts_tree_delete(tree);
        free(text);
    }
    if (query)
        ts_query_delete(query);
    ts_parser_delete(parser);
}
