/* A Unigram model that segments words into pieces as sentencepiece does. */

#ifndef PARAPHRASTIC_UNIGRAM_H
#define PARAPHRASTIC_UNIGRAM_H

#include "_map.h"

#define UNKNOWN_ID 1
#define UNKNOWN_PENALTY 10.0f
#define NO_PIECE (-1)
#define SYMBOLS 224 /* the space mark, which starts every word, and the bytes of UTF-8 */
#define MARK 0
#define IS_LATER(byte) (((unsigned char)(byte) & 0xC0) == 0x80) /* within a character */
#define SYMBOL(byte) ((size_t)(unsigned char)(byte) - ' ')

static const char SPACE_MARK[] = "\xE2\x96\x81";

/* A trie as a double array: the child of a node by a symbol is the cell at the node's base plus
   the symbol, if that cell's parent is the node. */
typedef struct {
    uint32_t base;
    uint32_t parent; /* number of the parent plus one; 0 for a free cell */
    int32_t piece;   /* piece that ends here, or NO_PIECE */
    float score;
} Cell;

typedef struct {
    Cell *cells; /* the first is the root */
    size_t capacity;
    size_t free; /* all cells before it are used */
    float unknown_score;
    int32_t mark; /* piece of the bare space mark */
    int keep_unknown;
} Unigram;

/* A piece and its symbols. */
typedef struct {
    const char *bytes;
    size_t length;
    int32_t piece;
    float score;
    int is_marked; /* its first byte stands for the mark */
} Entry;

static void unigram_free(Unigram *model) {
    free(model->cells);
    memset(model, 0, sizeof *model);
}

/* Make the entry of a piece; return whether words can contain it. Pieces without bytes are for no
   text. */
static int get_entry(const char *bytes, size_t length, int32_t piece, float score, Entry *entry) {
    int is_marked = length >= 3 && !memcmp(bytes, SPACE_MARK, 3);
    if (is_marked) bytes += 2, length -= 2;
    *entry = (Entry){bytes, length, piece, score, is_marked};
    for (size_t i = is_marked ? 1 : 0; i < length; i++)
        if ((unsigned char)bytes[i] <= ' ' || bytes[i] == 127) return 0;
    return length > 0;
}

static size_t symbol_of(const Entry *entry, size_t i) {
    return !i && entry->is_marked ? MARK : SYMBOL(entry->bytes[i]);
}

static int by_bytes(const void *first, const void *second) {
    const Entry *a = first, *b = second;
    int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    if (order) return order;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return a->piece < b->piece ? -1 : 1; /* among equal pieces, the last counts */
}

/* Find a base with free cells at the base plus each symbol; 0 if out of memory. */
static size_t find_base(Unigram *model, const size_t *symbols, size_t count) {
    for (size_t at = model->free;; at++) {
        size_t before = model->capacity;
        if (at + 2 * SYMBOLS >= UINT32_MAX ||
            reserve((void **)&model->cells, &model->capacity, at + 2 * SYMBOLS, sizeof(Cell)))
            return 0;
        memset(model->cells + before, 0, (model->capacity - before) * sizeof(Cell));
        if (at <= symbols[0] || model->cells[at].parent) continue;
        const Cell *cells = model->cells + at - symbols[0];
        size_t i = 1;
        while (i < count && !cells[symbols[i]].parent) i++;
        if (i == count) return at - symbols[0];
    }
}

typedef struct {
    size_t node, first, last, depth; /* entries with `depth` symbols in common */
} Branch;

/* Build the trie of sorted entries. */
static int build_trie(Unigram *model, const Entry *entries, size_t count) {
    Branch *branches = NULL;
    size_t open = 0, capacity = 0, failed = 1;
    if (reserve((void **)&model->cells, &model->capacity, 2 * SYMBOLS, sizeof(Cell)) ||
        reserve((void **)&branches, &capacity, SYMBOLS, sizeof(Branch)))
        goto done;
    memset(model->cells, 0, model->capacity * sizeof(Cell));
    model->cells[0] = (Cell){0, UINT32_MAX, NO_PIECE, 0};
    model->free = 1;
    branches[open++] = (Branch){0, 0, count, 0};
    while (open) {
        Branch branch = branches[--open];
        size_t i = branch.first, depth = branch.depth, node = branch.node, kinds = 0;
        size_t symbols[SYMBOLS], starts[SYMBOLS + 1];
        for (; i < branch.last && entries[i].length == depth; i++) {
            model->cells[node].piece = entries[i].piece;
            model->cells[node].score = entries[i].score;
        }
        for (; i < branch.last; i++) {
            size_t symbol = symbol_of(&entries[i], depth);
            if (kinds && symbols[kinds - 1] == symbol) continue;
            symbols[kinds] = symbol;
            starts[kinds++] = i;
        }
        if (!kinds) continue;
        starts[kinds] = branch.last;
        size_t base = find_base(model, symbols, kinds);
        if (!base || reserve((void **)&branches, &capacity, open + kinds, sizeof(Branch)))
            goto done;
        model->cells[node].base = (uint32_t)base;
        for (size_t k = kinds; k--;) {
            size_t child = base + symbols[k];
            model->cells[child] = (Cell){0, (uint32_t)node + 1, NO_PIECE, 0};
            branches[open++] = (Branch){child, starts[k], starts[k + 1], depth + 1};
        }
        while (model->free < model->capacity && model->cells[model->free].parent) model->free++;
    }
    failed = 0;
done:
    free(branches);
    return failed ? -1 : 0;
}

/* A piece of a model. */
typedef struct {
    const char *bytes; /* UTF-8 */
    size_t length;     /* 0 for pieces that no text contains */
    float score;
} Piece;

/* Build a model of pieces in order of their ids; -1 if out of memory. With `ascii`, it segments
   ASCII words only, and is smaller. */
static int unigram_build(Unigram *model, const Piece *pieces, size_t count, int keep_unknown,
                         int ascii) {
    *model = (Unigram){.mark = NO_PIECE, .keep_unknown = keep_unknown};
    Entry *entries = malloc((count + 1) * sizeof *entries);
    if (!entries) return -1;
    size_t used = 0;
    float lowest = 0;
    for (size_t i = 0; i < count; i++) {
        const Piece *piece = &pieces[i];
        if (!piece->length) continue;
        if (piece->score < lowest) lowest = piece->score;
        if (piece->length == 3 && !memcmp(piece->bytes, SPACE_MARK, 3)) model->mark = (int32_t)i;
        Entry *entry = &entries[used];
        if (!get_entry(piece->bytes, piece->length, (int32_t)i, piece->score, entry)) continue;
        unsigned char seen = 0;
        for (size_t at = entry->is_marked; at < entry->length; at++)
            seen |= (unsigned char)entry->bytes[at];
        used += !ascii || seen < 128;
    }
    model->unknown_score = lowest - UNKNOWN_PENALTY;
    qsort(entries, used, sizeof *entries, by_bytes);
    int failed = build_trie(model, entries, used);
    free(entries);
    if (failed) unigram_free(model);
    return failed;
}

typedef struct {
    float score;
    int32_t piece; /* last piece of the best path to here; NO_PIECE without a path */
    uint32_t start;
} Step;

typedef struct {
    Step *steps;
    size_t steps_capacity;
    int32_t *ids;
    size_t count, capacity;
} Pieces;

static void pieces_free(Pieces *pieces) {
    free(pieces->steps);
    free(pieces->ids);
}

static inline void step_to(Step *step, float score, int32_t piece, size_t start) {
    if (step->piece == NO_PIECE || score > step->score)
        *step = (Step){score, piece, (uint32_t)start};
}

/* Write the ids of a word to `pieces`: the path with the highest sum of scores. Among equal
   paths, the last piece that starts first wins, as in sentencepiece. */
static int cut_word(const Unigram *model, Pieces *pieces, const char *word, size_t length) {
    size_t size = length + 1; /* with the mark */
    if (size >= UINT32_MAX ||
        reserve((void **)&pieces->steps, &pieces->steps_capacity, size + 1, sizeof(Step)) ||
        reserve((void **)&pieces->ids, &pieces->capacity, size, sizeof(int32_t)))
        return -1;
    Step *steps = pieces->steps;
    const Cell *cells = model->cells;
    for (size_t i = 0; i <= size; i++) steps[i] = (Step){0, NO_PIECE, 0};
    for (size_t start = 0, next; start < size; start = next) {
        int has_character = 0;
        size_t node = 0;
        for (next = start + 1; next < size && IS_LATER(word[next - 1]);) next++;
        for (size_t end = start; end < size;) {
            size_t child = cells[node].base + (end ? SYMBOL(word[end - 1]) : MARK);
            const Cell *cell = &cells[child];
            if (cell->parent != node + 1) break;
            end++;
            node = child;
            if (cell->piece == NO_PIECE) continue;
            step_to(&steps[end], steps[start].score + cell->score, cell->piece, start);
            has_character |= end == next;
        }
        if (!has_character)
            step_to(&steps[next], steps[start].score + model->unknown_score, UNKNOWN_ID, start);
    }
    int32_t *ids = pieces->ids + size; /* filled from the end */
    size_t count = 0, kept = 0;
    for (size_t end = size; end > 0; end = steps[end].start) {
        int32_t piece = steps[end].piece;
        if (piece == UNKNOWN_ID && count && *ids == UNKNOWN_ID) continue; /* merge a run */
        *--ids = piece;
        count++;
    }
    for (size_t i = 0; i < count; i++) { /* a bare mark before an unknown piece is dropped too */
        int is_bare = ids[i] == model->mark && i + 1 < count && ids[i + 1] == UNKNOWN_ID;
        if (model->keep_unknown || (ids[i] != UNKNOWN_ID && !is_bare))
            pieces->ids[kept++] = ids[i];
    }
    pieces->count = kept;
    return 0;
}

#endif
