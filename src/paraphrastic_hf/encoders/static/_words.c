/* Averages table rows over the tokens of texts, for `encoders/static/engine.py`.

   A WordTable maps words to token ids. A Block looks up the words of texts in its table and
   averages the rows of their ids. It collects unknown words, and segments ASCII ones with a Unigram
   model. Blocks run without the interpreter's lock, and many may read one table. A table changes
   only while the lock is held and no Block is reading.

   Words are separated by ASCII white space and control characters, DEL included, which
   `text/normalize.py` also treats as spaces. If the table lower-cases, ASCII words are lower-cased
   here. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "_map.h"
#include "_narrow.h"
#include "_unigram.h"

#define TEXTS_AHEAD 4
#define WORDS_AT_A_TIME 512 /* look-ups that wait for memory together */

/* ---- arguments ---- */

/* Get a contiguous buffer of int32 (i), int64 (q), float32 (f), table rows (r): float32, uint16,
   int8 or uint8, or means (m): float32, float16 or int8. */
static int get_items(PyObject *object, Py_buffer *view, char kind, int writable,
                     const char *name) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags)) return -1;
    char format = view->format ? view->format[0] : 'B';
    Py_ssize_t size = view->itemsize;
    int fits = kind == 'i'   ? size == 4 && (format == 'i' || format == 'l')
               : kind == 'q' ? size == 8 && (format == 'q' || format == 'l')
                             : size == 4 && format == 'f';
    if (kind == 'r') fits |= (size == 2 && format == 'H') || (size == 1 && (format | 32) == 'b');
    if (kind == 'm') fits |= (size == 2 && format == 'e') || (size == 1 && format == 'b');
    if (fits) return 0;
    PyErr_Format(PyExc_TypeError, "%s must be %s", name,
                 kind == 'i'   ? "int32"
                 : kind == 'q' ? "int64"
                 : kind == 'f' ? "float32"
                 : kind == 'm' ? "float32, float16 or int8"
                               : "float32, uint16, int8 or uint8");
    PyBuffer_Release(view);
    return -1;
}

/* The table, the output for the means, and the output for the token counts. */
typedef struct {
    Py_buffer table, out, tokens;
    int32_t *token_counts; /* NULL if not requested */
    Averager averager;
    Output output;
} Rows;

static void release_rows(Rows *rows) {
    PyBuffer_Release(&rows->table);
    PyBuffer_Release(&rows->out);
    if (rows->token_counts) PyBuffer_Release(&rows->tokens);
    free(rows->averager.sum);
    free(rows->averager.total);
    free(rows->output.mean);
}

static int get_rows(PyObject *table, PyObject *out, PyObject *tokens, Py_ssize_t texts,
                    int normalize, Rows *rows) {
    rows->token_counts = NULL;
    if (get_items(table, &rows->table, 'r', 0, "table")) return -1;
    if (get_items(out, &rows->out, 'm', 1, "out")) {
        PyBuffer_Release(&rows->table);
        return -1;
    }
    size_t dimension = rows->table.ndim == 2 ? (size_t)rows->table.shape[1] : 0;
    if (rows->table.itemsize == 1) dimension -= dimension < SCALE_BYTES ? dimension : SCALE_BYTES;
    char format = rows->table.format ? rows->table.format[0] : 'B';
    if (format == 'B' && dimension) { /* two numbers per byte; the width of out tells if odd */
        dimension *= 2;
        dimension -= rows->out.ndim == 2 && (size_t)rows->out.shape[1] == dimension - 1;
    }
    Averager *the = &rows->averager;
    *the = (Averager){.table = rows->table.buf, .dimension = dimension, .normalize = normalize};
    the->format = format;
    rows->output = (Output){.rows = rows->out.buf, .format = 'f'};
    if (rows->out.format) rows->output.format = rows->out.format[0];
    if (!dimension) {
        PyErr_SetString(PyExc_ValueError, "the table has no columns besides the scale");
        release_rows(rows);
        return -1;
    }
    if (rows->out.ndim != 2 || rows->out.shape[0] != texts ||
        (size_t)rows->out.shape[1] != dimension) {
        PyErr_SetString(PyExc_ValueError, "out must have one row per text, as wide as the table");
        release_rows(rows);
        return -1;
    }
    the->rows = (size_t)rows->table.shape[0];
    the->sum = malloc((dimension + 1) * sizeof(float));
    the->total = malloc(dimension * sizeof(double));
    rows->output.mean = malloc(dimension * sizeof(float));
    if (!the->sum || !the->total || !rows->output.mean) {
        PyErr_NoMemory();
        release_rows(rows);
        return -1;
    }
    if (!tokens || tokens == Py_None) return 0;
    if (get_items(tokens, &rows->tokens, 'i', 1, "tokens")) {
        release_rows(rows);
        return -1;
    }
    rows->token_counts = rows->tokens.buf;
    if (rows->tokens.len / 4 == texts) return 0;
    PyErr_SetString(PyExc_ValueError, "tokens must have one number per text");
    release_rows(rows);
    return -1;
}

static PyObject *none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

static void free_object(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---- the table ---- */

typedef struct {
    PyObject_HEAD
    Map words;
    Unigram model;
    int lowercase;
} WordTable;

static PyObject *table_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    int lowercase = 1;
    static char *names[] = {"lowercase", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|p", names, &lowercase)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    WordTable *self = (WordTable *)allocate(type, 0);
    if (self) self->lowercase = lowercase;
    return (PyObject *)self;
}

static void table_free(PyObject *object) {
    map_free(&((WordTable *)object)->words);
    unigram_free(&((WordTable *)object)->model);
    free_object(object);
}

static Py_ssize_t table_length(PyObject *object) {
    return (Py_ssize_t)((WordTable *)object)->words.count;
}

/* Check that the counts of ids of `number` words fit; -1 with an error if not. */
static int check_counts(const Py_buffer *counts, const Py_buffer *ids, Py_ssize_t number) {
    if (counts->len / 4 != number) {
        PyErr_SetString(PyExc_ValueError, "counts must have one number per word");
        return -1;
    }
    size_t given = (size_t)ids->len / 4, used = 0;
    for (Py_ssize_t i = 0; i < number && used <= given; i++) {
        int32_t count = ((const int32_t *)counts->buf)[i];
        used = count < 0 ? given + 1 : used + (size_t)count;
    }
    if (used == given) return 0;
    PyErr_SetString(PyExc_ValueError, "counts must sum to the number of ids");
    return -1;
}

PyDoc_STRVAR(add_doc,
             "add(words, counts, ids): add words with their ids. counts, int32, is the number of "
             "ids, int32, of each word. Known words are skipped.");

static PyObject *table_add(PyObject *object, PyObject *arguments) {
    WordTable *self = (WordTable *)object;
    PyObject *words, *counts_object, *ids_object, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "O!OO", &PyList_Type, &words, &counts_object, &ids_object))
        return NULL;
    Py_buffer counts, ids;
    if (get_items(counts_object, &counts, 'i', 0, "counts")) return NULL;
    if (get_items(ids_object, &ids, 'i', 0, "ids")) {
        PyBuffer_Release(&counts);
        return NULL;
    }
    Py_ssize_t number = PyList_Size(words);
    char *word = NULL;
    size_t capacity = 0;
    const int32_t *next = ids.buf;
    if (check_counts(&counts, &ids, number)) goto done;
    for (Py_ssize_t i = 0; i < number; i++) {
        Py_ssize_t given;
        const char *bytes = PyUnicode_AsUTF8AndSize(PyList_GetItem(words, i), &given);
        if (!bytes) goto done;
        size_t length = (size_t)given, count = (size_t)((const int32_t *)counts.buf)[i];
        if (reserve((void **)&word, &capacity, length + EIGHT, 1)) goto no_memory;
        memset(word + length, 0, EIGHT);
        memcpy(word, bytes, length);
        uint32_t hash = hash_word(word, length);
        if (!map_find(&self->words, word, length, hash)) {
            Key *key = map_add(&self->words, word, length, hash);
            if (!key || map_answer(&self->words, key, next, count)) goto no_memory;
        }
        next += count;
    }
    result = none();
    goto done;
no_memory:
    PyErr_NoMemory();
done:
    free(word);
    PyBuffer_Release(&counts);
    PyBuffer_Release(&ids);
    return result;
}

PyDoc_STRVAR(cut_doc,
             "cut_with(pieces, scores, keep_unknown): set a Unigram model for ASCII words. pieces "
             "are in order of ids, '' for those that no text contains. scores are float32.");

static PyObject *table_cut_with(PyObject *object, PyObject *arguments) {
    WordTable *self = (WordTable *)object;
    PyObject *pieces, *scores_object;
    Unigram model = {.mark = NO_PIECE};
    if (!PyArg_ParseTuple(arguments, "O!Op", &PyList_Type, &pieces, &scores_object,
                          &model.keep_unknown))
        return NULL;
    Py_buffer view;
    if (get_items(scores_object, &view, 'f', 0, "scores")) return NULL;
    const float *scores = view.buf;
    float lowest = 0;
    int failed = 1;
    Entry *entries = NULL;
    size_t used = 0;
    Py_ssize_t count = PyList_Size(pieces);
    if (view.len / 4 != count) {
        PyErr_SetString(PyExc_ValueError, "scores must have one number per piece");
        goto done;
    }
    entries = malloc(((size_t)count + 1) * sizeof *entries);
    for (Py_ssize_t i = 0; entries && i < count; i++) {
        Py_ssize_t length;
        const char *bytes = PyUnicode_AsUTF8AndSize(PyList_GetItem(pieces, i), &length);
        if (!bytes) goto done;
        if (!length) continue;
        if (scores[i] < lowest) lowest = scores[i];
        if (length == 3 && !memcmp(bytes, SPACE_MARK, 3)) model.mark = (int32_t)i;
        used += get_entry(bytes, (size_t)length, (int32_t)i, scores[i], &entries[used]);
    }
    if (entries) qsort(entries, used, sizeof *entries, by_bytes);
    if (!entries || build_trie(&model, entries, used)) {
        PyErr_NoMemory();
        goto done;
    }
    model.unknown_score = lowest - UNKNOWN_PENALTY;
    unigram_free(&self->model);
    self->model = model;
    failed = 0;
done:
    free(entries);
    PyBuffer_Release(&view);
    if (failed) unigram_free(&model);
    return failed ? NULL : none();
}

/* ---- a block: groups of texts whose words are looked up together ---- */

typedef struct {
    uint32_t hash, length;
    size_t start; /* offset in the group's bytes */
} Word;

typedef struct {
    PyObject_HEAD
    WordTable *table;
    Map words; /* words outside the table; UNANSWERED ones are for the tokenizer */
    Pieces pieces;
    const char **bytes;
    size_t *sizes;
    size_t bytes_capacity, sizes_capacity;
    size_t *waiting; /* numbers of texts with a word for the tokenizer */
    size_t waiting_count, waiting_capacity;
    uint32_t *asked; /* numbers of those words */
    size_t asked_count, asked_capacity;
    /* the current group: */
    char *group;
    size_t used, group_capacity;
    Word *found;
    size_t found_count, found_capacity;
    size_t *ends; /* end of each text's words */
    size_t ends_count, ends_capacity;
    int32_t *ids;
    size_t ids_capacity;
} Block;

static void block_free(PyObject *object) {
    Block *self = (Block *)object;
    map_free(&self->words);
    pieces_free(&self->pieces);
    free(self->bytes);
    free(self->sizes);
    free(self->waiting);
    free(self->asked);
    free(self->group);
    free(self->found);
    free(self->ends);
    free(self->ids);
    Py_XDECREF((PyObject *)self->table);
    free_object(object);
}

static Py_ssize_t block_length(PyObject *object) {
    return (Py_ssize_t)((Block *)object)->words.count;
}

/* Add the words of a text to the group. */
static int split(Block *self, const char *text, size_t length) {
    size_t padded = self->used + (length / EIGHT + 2) * EIGHT;
    if (reserve((void **)&self->group, &self->group_capacity, padded, 1)) return -1;
    char *at = self->group + self->used, *end = at + length;
    memcpy(at, text, length);
    memset(end, 0, (size_t)(self->group + padded - end));
    uint64_t seen = 0;
    for (char *part = at; part < end; part += EIGHT) seen |= load(part);
    int is_ascii = !(seen & EVERY(0x80)), lowercase = self->table->lowercase;
    if (is_ascii && lowercase) lower_ascii(at, length);
    for (;;) {
        while (at < end && ((unsigned char)*at <= ' ' || *at == 127)) at++;
        if (at == end) break;
        char *start = at;
        uint64_t eight, spaces;
        for (seen = 0;; at += EIGHT) {
            eight = load(at);
            if ((spaces = spaces_in(eight))) break;
            seen |= eight;
        }
        size_t last = lowest_byte(spaces);
        seen |= low_bytes(eight, last);
        at += last;
        size_t size = (size_t)(at - start);
        if (size > UINT32_MAX ||
            reserve((void **)&self->found, &self->found_capacity, self->found_count + 1,
                    sizeof(Word)))
            return -1;
        if (!is_ascii && lowercase && !(seen & EVERY(0x80))) lower_ascii(start, size);
        uint32_t hash = hash_word(start, size);
        Word word = {hash, (uint32_t)size, (size_t)(start - self->group)};
        self->found[self->found_count++] = word;
    }
    self->used = padded;
    return 0;
}

/* Find a word in the table or the block, or add it to the block; NULL if out of memory. */
static const Key *look_up(Block *self, const Word *word, const Map **map) {
    const char *bytes = self->group + word->start;
    *map = &self->table->words;
    const Key *known = map_find(*map, bytes, word->length, word->hash);
    if (known && known->count != UNANSWERED) return known;
    *map = &self->words;
    Key *key = map_find(*map, bytes, word->length, word->hash);
    if (key) return key;
    key = map_add(&self->words, bytes, word->length, word->hash);
    if (!key) return NULL;
    unsigned char seen = 0;
    for (size_t i = 0; i < word->length; i++) seen |= (unsigned char)bytes[i];
    if (seen < 128 && self->table->model.cells) {
        Pieces *pieces = &self->pieces;
        if (cut_word(&self->table->model, pieces, bytes, word->length) ||
            map_answer(&self->words, key, pieces->ids, pieces->count))
            return NULL;
    } else {
        if (reserve((void **)&self->asked, &self->asked_capacity, self->asked_count + 1,
                    sizeof *self->asked))
            return NULL;
        self->asked[self->asked_count++] = (uint32_t)self->words.count - 1;
    }
    return key;
}

static int wait_for(Block *self, size_t text) {
    if (reserve((void **)&self->waiting, &self->waiting_capacity, self->waiting_count + 1,
                sizeof(size_t)))
        return NO_MEMORY;
    self->waiting[self->waiting_count++] = text;
    return DONE;
}

/* Numbers of texts and of their output rows: `count` numbers from `first`, or `others`. */
typedef struct {
    size_t first, count;
    const size_t *others;
} Range;

static size_t number_of(const Range *range, size_t i) {
    return range->others ? range->others[i] : range->first + i;
}

/* Average a group of texts, which starts at `begin` in the range. */
static int mean_group(Block *self, const Range *range, size_t begin, const Rows *rows) {
    const Map *table = &self->table->words;
    const Averager *the = &rows->averager;
    for (size_t i = 0; table->slots && i < self->found_count; i++) {
        Slot slot = table->slots[self->found[i].hash & table->mask];
        if (!slot.number || slot.hash != self->found[i].hash) continue;
        const Key *key = &table->keys[slot.number - 1];
        PREFETCH(key);
        PREFETCH((const char *)(key + 1) - 1);
    }
    size_t held = 0;
    for (size_t text = 0, word = 0; text < self->ends_count; text++) {
        size_t before = held;
        int waits = 0;
        for (; word < self->ends[text]; word++) {
            const Map *map;
            const Key *key = look_up(self, &self->found[word], &map);
            if (!key) return NO_MEMORY;
            waits |= key->count == UNANSWERED;
            if (waits) continue;
            size_t count = (size_t)key->count;
            if (reserve((void **)&self->ids, &self->ids_capacity, held + count + FEW,
                        sizeof(int32_t)))
                return NO_MEMORY;
            const int32_t *ids = key_ids(map, key);
            for (size_t i = 0; i < count; i++) {
                if ((uint32_t)ids[i] >= the->rows) return NO_ROW;
                self->ids[held++] = ids[i];
            }
        }
        if (waits) {
            held = before;
            if (!range->others && wait_for(self, number_of(range, begin + text)))
                return NO_MEMORY;
        }
        self->ends[text] = waits ? SIZE_MAX : held; /* now the end of its ids */
    }
    for (size_t text = 0, from = 0; text < self->ends_count; text++) {
        size_t end = self->ends[text], number = number_of(range, begin + text);
        if (end == SIZE_MAX) continue;
        int failed =
            write_mean(the, self->ids + from, end - from, held - from, &rows->output, number);
        if (failed) return failed;
        if (rows->token_counts) rows->token_counts[number] = (int32_t)(end - from);
        from = end;
    }
    return DONE;
}

static int mean_texts(Block *self, const Range *range, const Rows *rows) {
    const Map *table = &self->table->words;
    int failed = DONE;
    for (size_t i = 0; i < range->count && !failed;) {
        size_t begin = i;
        self->used = self->found_count = self->ends_count = 0;
        for (; i < range->count && self->found_count < WORDS_AT_A_TIME; i++) {
            size_t before = self->found_count;
            if (i + TEXTS_AHEAD < range->count) {
                PREFETCH(self->bytes[i + TEXTS_AHEAD]);
                PREFETCH(self->bytes[i + TEXTS_AHEAD] + 64);
            }
            if (reserve((void **)&self->ends, &self->ends_capacity, self->ends_count + 1,
                        sizeof(size_t)) ||
                split(self, self->bytes[i], self->sizes[i]))
                return NO_MEMORY;
            self->ends[self->ends_count++] = self->found_count;
            for (size_t word = before; table->slots && word < self->found_count; word++)
                PREFETCH(&table->slots[self->found[word].hash & table->mask]);
        }
        failed = mean_group(self, range, begin, rows);
    }
    return failed;
}

static int raise_for(int failed) {
    if (failed == NO_MEMORY) PyErr_NoMemory();
    if (failed == NO_ROW) PyErr_SetString(PyExc_ValueError, "an id is out of the table's range");
    if (failed == NO_TEXT) PyErr_SetString(PyExc_ValueError, "a text is out of range");
    if (failed == TOO_LARGE)
        PyErr_SetString(PyExc_ValueError, "a mean is not finite, or too large for float16");
    return failed;
}

/* Get the UTF-8 bytes of the strings of a list; `range` has their numbers, for messages. */
static int get_strings(Block *self, PyObject *texts, const Range *range) {
    if (reserve((void **)&self->bytes, &self->bytes_capacity, range->count, sizeof(char *)) ||
        reserve((void **)&self->sizes, &self->sizes_capacity, range->count, sizeof(size_t)))
        return raise_for(NO_MEMORY);
    for (size_t i = 0; i < range->count; i++) {
        PyObject *text = PyList_GetItem(texts, (Py_ssize_t)i);
        if (!text) return -1;
        if (!PyUnicode_Check(text)) {
            PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(text), "__name__");
            if (name)
                PyErr_Format(PyExc_TypeError, "texts[%zu] must be a string, got %U",
                             number_of(range, i), name);
            Py_XDECREF(name);
            return -1;
        }
        Py_ssize_t length;
        self->bytes[i] = PyUnicode_AsUTF8AndSize(text, &length);
        if (!self->bytes[i]) return -1;
        self->sizes[i] = (size_t)length;
    }
    return 0;
}

/* Write the means of the texts of a list to their rows. */
static int mean_list(Block *self, PyObject *texts, const Range *range, const Rows *rows) {
    int failed;
    if (get_strings(self, texts, range)) return -1;
    Py_BEGIN_ALLOW_THREADS
    failed = mean_texts(self, range, rows);
    Py_END_ALLOW_THREADS
    return raise_for(failed);
}

PyDoc_STRVAR(mean_doc,
             "mean(texts, start, stop, table, out, normalize, tokens=None): average the rows of "
             "table, (vocab, dim) float32 or packed (packing.py), over the ids of each of "
             "texts[start:stop]. Write the means to out, (texts, dim) float32, zeros for a text "
             "without ids, and the number of ids to tokens, (texts,) int32. Texts with words in "
             "`asked` wait for `answer`.");

static PyObject *block_mean(PyObject *object, PyObject *arguments) {
    PyObject *texts, *table, *out, *tokens = NULL;
    Py_ssize_t start, stop;
    int normalize;
    if (!PyArg_ParseTuple(arguments, "O!nnOOp|O", &PyList_Type, &texts, &start, &stop, &table,
                          &out, &normalize, &tokens))
        return NULL;
    if (start < 0 || stop < start || stop > PyList_Size(texts)) {
        PyErr_SetString(PyExc_ValueError, "start and stop must be within the list, in this order");
        return NULL;
    }
    Rows rows;
    if (get_rows(table, out, tokens, PyList_Size(texts), normalize, &rows)) return NULL;
    PyObject *part = PyList_GetSlice(texts, start, stop); /* keep the strings alive */
    Range range = {(size_t)start, (size_t)(stop - start), NULL};
    int failed = !part || mean_list((Block *)object, part, &range, &rows);
    Py_XDECREF(part);
    release_rows(&rows);
    return failed ? NULL : none();
}

PyDoc_STRVAR(asked_doc, "asked() -> list: the words that the tokenizer must segment.");

static PyObject *block_asked(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    Block *self = (Block *)object;
    PyObject *words = PyList_New((Py_ssize_t)self->asked_count);
    for (size_t i = 0; words && i < self->asked_count; i++) {
        const Key *key = &self->words.keys[self->asked[i]];
        PyObject *word = PyUnicode_DecodeUTF8(key_word(&self->words, key),
                                              (Py_ssize_t)key->length, "replace");
        if (word) PyList_SetItem(words, (Py_ssize_t)i, word);
        else Py_CLEAR(words);
    }
    return words;
}

/* Get the waiting texts, which their list may no longer have. */
static PyObject *waiting_texts(const Block *self, PyObject *texts) {
    PyObject *waiting = PyList_New(0);
    for (size_t i = 0; waiting && i < self->waiting_count; i++) {
        PyObject *text = PyList_GetItem(texts, (Py_ssize_t)self->waiting[i]);
        if (!text || PyList_Append(waiting, text)) Py_CLEAR(waiting);
    }
    return waiting;
}

/* Take the ids of the words in `asked`; -1 with an error if that fails. */
static int take_answers(Block *self, PyObject *counts_object, PyObject *ids_object) {
    Py_buffer counts, ids;
    if (get_items(counts_object, &counts, 'i', 0, "counts")) return -1;
    if (get_items(ids_object, &ids, 'i', 0, "ids")) {
        PyBuffer_Release(&counts);
        return -1;
    }
    int failed = check_counts(&counts, &ids, (Py_ssize_t)self->asked_count);
    const int32_t *next = ids.buf;
    for (size_t i = 0; i < self->asked_count && !failed; i++) {
        size_t count = (size_t)((const int32_t *)counts.buf)[i];
        failed = map_answer(&self->words, &self->words.keys[self->asked[i]], next, count);
        if (failed) PyErr_NoMemory();
        next += count;
    }
    PyBuffer_Release(&counts);
    PyBuffer_Release(&ids);
    return failed;
}

PyDoc_STRVAR(answer_doc,
             "answer(counts, ids, texts, table, out, normalize, tokens=None): take the ids, int32, "
             "of the words in `asked`, counts, int32, of each. Write the means of the waiting "
             "texts, as `mean` does.");

static PyObject *block_answer(PyObject *object, PyObject *arguments) {
    Block *self = (Block *)object;
    PyObject *counts, *ids, *texts, *table, *out, *tokens = NULL, *result = NULL;
    int normalize;
    if (!PyArg_ParseTuple(arguments, "OOO!OOp|O", &counts, &ids, &PyList_Type, &texts, &table,
                          &out, &normalize, &tokens))
        return NULL;
    Rows rows;
    if (get_rows(table, out, tokens, PyList_Size(texts), normalize, &rows)) return NULL;
    PyObject *waiting = waiting_texts(self, texts);
    if (waiting && !take_answers(self, counts, ids)) {
        Range range = {0, self->waiting_count, self->waiting};
        if (!mean_list(self, waiting, &range, &rows)) result = none();
        self->asked_count = self->waiting_count = 0;
    }
    Py_XDECREF(waiting);
    release_rows(&rows);
    return result;
}

static size_t characters(const char *word, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)word[i] & 0xC0) != 0x80;
    return count;
}

PyDoc_STRVAR(learn_doc,
             "learn(longest, most): move words of at most `longest` characters to the table while "
             "it has fewer than `most`. No other block may read the table meanwhile.");

static PyObject *block_learn(PyObject *object, PyObject *arguments) {
    Block *self = (Block *)object;
    Py_ssize_t longest, most;
    if (!PyArg_ParseTuple(arguments, "nn", &longest, &most)) return NULL;
    Map *known = &self->table->words, *words = &self->words;
    for (size_t i = 0; i < words->count && (Py_ssize_t)known->count < most; i++) {
        if (known->slots && i + 16 < words->count)
            PREFETCH(&known->slots[words->keys[i + 16].hash & known->mask]);
        const Key *key = &words->keys[i];
        const char *word = key_word(words, key);
        if (key->count == UNANSWERED || map_find(known, word, key->length, key->hash)) continue;
        if (key->length > longest && (Py_ssize_t)characters(word, key->length) > longest) continue;
        Key *learned = map_add(known, word, key->length, key->hash);
        if (!learned || map_answer(known, learned, key_ids(words, key), (size_t)key->count))
            return PyErr_NoMemory();
    }
    map_clear(words);
    self->asked_count = self->waiting_count = 0;
    return none();
}

PyDoc_STRVAR(words_doc, "words() -> dict: the words of this block and their ids, None for those in "
                        "`asked`.");

static PyObject *block_words(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    Block *self = (Block *)object;
    PyObject *words = PyDict_New();
    for (size_t i = 0; words && i < self->words.count; i++) {
        const Key *key = &self->words.keys[i];
        const char *bytes = key_word(&self->words, key);
        PyObject *word = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)key->length, "replace");
        PyObject *ids = key->count == UNANSWERED ? none() : PyList_New(key->count);
        for (int32_t j = 0; ids && j < key->count; j++) {
            PyObject *id = PyLong_FromLong(key_ids(&self->words, key)[j]);
            if (id) PyList_SetItem(ids, j, id);
            else Py_CLEAR(ids);
        }
        if (!word || !ids || PyDict_SetItem(words, word, ids)) Py_CLEAR(words);
        Py_XDECREF(word);
        Py_XDECREF(ids);
    }
    return words;
}

#include "_arrow.h"

static PyMethodDef block_methods[] = {
    {"mean", block_mean, METH_VARARGS, mean_doc},
    {"mean_arrow", block_mean_arrow, METH_VARARGS, mean_arrow_doc},
    {"answer_arrow", block_answer_arrow, METH_VARARGS, answer_arrow_doc},
    {"asked", block_asked, METH_NOARGS, asked_doc},
    {"answer", block_answer, METH_VARARGS, answer_doc},
    {"learn", block_learn, METH_VARARGS, learn_doc},
    {"words", block_words, METH_NOARGS, words_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot block_slots[] = {
    {Py_tp_dealloc, block_free},
    {Py_tp_methods, block_methods},
    {Py_sq_length, block_length},
    {Py_tp_doc, "Reader of texts that collects words outside the table."},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "paraphrastic_hf.encoders.static._words.Block",
    .basicsize = sizeof(Block),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

/* ---- the module ---- */

typedef struct {
    PyTypeObject *block_type;
} State;

PyDoc_STRVAR(block_doc, "block() -> Block: a reader of texts, for one thread at a time.");

static PyObject *table_block(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    State *state = PyType_GetModuleState(Py_TYPE(object));
    if (!state) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->block_type, Py_tp_alloc);
    Block *self = (Block *)allocate(state->block_type, 0);
    if (!self) return NULL;
    Py_INCREF(object);
    self->table = (WordTable *)object;
    return (PyObject *)self;
}

static PyMethodDef table_methods[] = {
    {"add", table_add, METH_VARARGS, add_doc},
    {"cut_with", table_cut_with, METH_VARARGS, cut_doc},
    {"block", table_block, METH_NOARGS, block_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new},
    {Py_tp_dealloc, table_free},
    {Py_tp_methods, table_methods},
    {Py_sq_length, table_length},
    {Py_tp_doc, "WordTable(lowercase=True): dictionary from words to token ids."},
    {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "paraphrastic_hf.encoders.static._words.WordTable",
    .basicsize = sizeof(WordTable),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = table_slots,
};

PyDoc_STRVAR(average_doc,
             "average(ids, ends, table, out, normalize): write means of the table's rows over ids, "
             "int32, to out, as `Block.mean` does. ends, int64, is the end of each mean's ids.");

static PyObject *average_ids(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *ids_object, *ends_object, *table, *out, *result = NULL;
    int normalize, wrong = 0, failed = DONE;
    if (!PyArg_ParseTuple(arguments, "OOOOp", &ids_object, &ends_object, &table, &out, &normalize))
        return NULL;
    Py_buffer ids_view, ends_view;
    Rows rows;
    if (get_items(ids_object, &ids_view, 'i', 0, "ids")) return NULL;
    if (get_items(ends_object, &ends_view, 'q', 0, "ends")) {
        PyBuffer_Release(&ids_view);
        return NULL;
    }
    const int32_t *ids = ids_view.buf;
    const int64_t *ends = ends_view.buf;
    size_t count = (size_t)ids_view.len / 4, texts = (size_t)ends_view.len / 8;
    if (get_rows(table, out, NULL, (Py_ssize_t)texts, normalize, &rows)) goto done;
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < count; i++) wrong |= (uint32_t)ids[i] >= rows.averager.rows;
    for (size_t i = 0; i < texts; i++)
        wrong |= ends[i] < (i ? ends[i - 1] : 0) || (size_t)ends[i] > count;
    wrong |= (texts ? (size_t)ends[texts - 1] : 0) != count;
    for (size_t i = 0, from = 0; i < texts && !wrong && !failed; from = (size_t)ends[i++])
        failed = write_mean(&rows.averager, ids + from, (size_t)ends[i] - from, count - from,
                            &rows.output, i);
    Py_END_ALLOW_THREADS
    release_rows(&rows);
    if (wrong) PyErr_SetString(PyExc_ValueError, "an id or an end is out of range");
    else if (!raise_for(failed)) result = none();
done:
    PyBuffer_Release(&ids_view);
    PyBuffer_Release(&ends_view);
    return result;
}

static PyMethodDef module_methods[] = {
    {"average", average_ids, METH_VARARGS, average_doc},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module) {
    State *state = PyModule_GetState(module);
    state->block_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &block_spec, NULL);
    if (!state->block_type) return -1;
    PyObject *type = PyType_FromModuleAndSpec(module, &table_spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "WordTable", type);
    Py_DECREF(type);
    return failed;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    State *state = PyModule_GetState(module);
    if (state) Py_VISIT(state->block_type);
    return 0;
}

static int clear(PyObject *module) {
    State *state = PyModule_GetState(module);
    if (state) Py_CLEAR(state->block_type);
    return 0;
}

static void free_module(void *module) { clear(module); }

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_words",
    .m_doc = "Fast averages of table rows over texts; see encoders/static/engine.py.",
    .m_size = sizeof(State),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__words(void) { return PyModuleDef_Init(&module); }
