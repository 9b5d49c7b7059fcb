/* The Python interface of `_core.h`, for `encoders/static/engine.py`.

   Blocks run without the interpreter's lock, and many may read one table. A table changes only
   while the lock is held and no Block is reading. */

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED /* without the lock there is no limited API */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "_core.h"

/* ---- arguments ---- */

/* Get a contiguous buffer of int8 (b), int16 (h), int32 (i), int64 (q), float32 (f), table rows
   (r): float32, uint16, int8 or uint8, or means (m): float32, float16 or int8. */
static int get_items(PyObject *object, Py_buffer *view, char kind, int writable,
                     const char *name) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags)) return -1;
    char format = view->format ? view->format[0] : 'B';
    Py_ssize_t size = view->itemsize;
    int fits = kind == 'i'   ? size == 4 && (format == 'i' || format == 'l')
               : kind == 'q' ? size == 8 && (format == 'q' || format == 'l')
               : kind == 'b' ? size == 1 && format == 'b'
               : kind == 'h' ? size == 2 && format == 'h'
                             : size == 4 && format == 'f';
    if (kind == 'r') fits |= (size == 2 && format == 'H') || (size == 1 && (format | 32) == 'b');
    if (kind == 'm') fits |= (size == 2 && format == 'e') || (size == 1 && format == 'b');
    if (fits) return 0;
    PyErr_Format(PyExc_TypeError, "%s must be %s", name,
                 kind == 'i'   ? "int32"
                 : kind == 'q' ? "int64"
                 : kind == 'f' ? "float32"
                 : kind == 'b' ? "int8"
                 : kind == 'h' ? "int16"
                 : kind == 'm' ? "float32, float16 or int8"
                               : "float32, uint16, int8 or uint8");
    PyBuffer_Release(view);
    return -1;
}

/* The table, the output for the means, the output for the token counts, and a window's arrays. */
typedef struct {
    Py_buffer table, out, tokens, context, bias, inner, hidden_bias, outer;
    Output output;
} Rows;

static void release_rows(Rows *rows) {
    PyBuffer_Release(&rows->table);
    PyBuffer_Release(&rows->out);
    if (rows->output.token_counts) PyBuffer_Release(&rows->tokens);
    PyBuffer_Release(&rows->context); /* does nothing if the buffer was never filled */
    PyBuffer_Release(&rows->bias);
    PyBuffer_Release(&rows->inner);
    PyBuffer_Release(&rows->hidden_bias);
    PyBuffer_Release(&rows->outer);
    free(rows->output.averager.sum);
    free(rows->output.averager.total);
    free(rows->output.mean);
    free(rows->output.sum);
    free(rows->output.total);
}

static int has_shape(const Py_buffer *view, size_t rows, size_t columns) {
    return view->ndim == 2 && (size_t)view->shape[0] == rows && (size_t)view->shape[1] == columns;
}

/* Get the arrays of a `Window` (window.py). */
static int get_window(PyObject *window, Rows *rows, size_t dimension) {
    PyObject *context, *bias, *inner, *hidden_bias, *outer;
    if (!PyArg_ParseTuple(window, "OOOOO", &context, &bias, &inner, &hidden_bias, &outer) ||
        get_items(context, &rows->context, 'b', 0, "context") ||
        get_items(bias, &rows->bias, 'h', 0, "bias") ||
        get_items(inner, &rows->inner, 'f', 0, "inner") ||
        get_items(hidden_bias, &rows->hidden_bias, 'f', 0, "hidden_bias") ||
        get_items(outer, &rows->outer, 'f', 0, "outer"))
        return -1;
    size_t features = (size_t)rows->bias.len / 2, hidden = (size_t)rows->hidden_bias.len / 4;
    if (rows->context.ndim != 3 || !rows->context.shape[0] || rows->context.shape[1] % 2 == 0 ||
        !features || (size_t)rows->context.shape[2] != features ||
        !has_shape(&rows->inner, dimension + features, hidden) ||
        !has_shape(&rows->outer, features + hidden, dimension)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the window do not fit together");
        return -1;
    }
    Output *the = &rows->output;
    the->window = (Window){.rows = rows->context.buf, .bias = rows->bias.buf,
                           .inner = rows->inner.buf, .hidden_bias = rows->hidden_bias.buf,
                           .outer = rows->outer.buf, .count = (size_t)rows->context.shape[0],
                           .span = (size_t)rows->context.shape[1], .features = features,
                           .hidden = hidden};
    free(the->mean);
    the->mean = calloc(TEXTS_TOGETHER * scratch_width(the), sizeof(float));
    the->sum = malloc(features * sizeof(int16_t));
    the->total = malloc(features * sizeof(int64_t));
    if (the->mean && the->sum && the->total) return 0;
    PyErr_NoMemory();
    return -1;
}

static int get_rows(PyObject *table, PyObject *out, PyObject *tokens, Py_ssize_t texts,
                    int normalize, Rows *rows) {
    PyObject *window = NULL;
    memset(rows, 0, sizeof *rows);
    if (PyTuple_Check(table) && !PyArg_ParseTuple(table, "OO", &table, &window)) return -1;
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
    rows->output.means = rows->out.buf;
    Averager *the = &rows->output.averager;
    *the = (Averager){.table = rows->table.buf, .dimension = dimension, .normalize = normalize};
    the->format = format;
    rows->output.format = rows->out.format ? rows->out.format[0] : 'f';
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
    if (window && get_window(window, rows, dimension)) {
        release_rows(rows);
        return -1;
    }
    if (!tokens || tokens == Py_None) return 0;
    if (get_items(tokens, &rows->tokens, 'i', 1, "tokens")) {
        release_rows(rows);
        return -1;
    }
    rows->output.token_counts = rows->tokens.buf;
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
    Words words;
} WordTable;

static PyObject *table_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    int lowercase = 1;
    static char *names[] = {"lowercase", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|p", names, &lowercase)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    WordTable *self = (WordTable *)allocate(type, 0);
    if (self) self->words.lowercase = lowercase;
    return (PyObject *)self;
}

static void table_free(PyObject *object) {
    words_free(&((WordTable *)object)->words);
    free_object(object);
}

static Py_ssize_t table_length(PyObject *object) {
    return (Py_ssize_t)((WordTable *)object)->words.map.count;
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
        if (words_add(&self->words, word, length, next, count)) goto no_memory;
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
    Words *words = &((WordTable *)object)->words;
    PyObject *list, *scores_object, *result = NULL;
    int keep_unknown;
    if (!PyArg_ParseTuple(arguments, "O!Op", &PyList_Type, &list, &scores_object, &keep_unknown))
        return NULL;
    Py_buffer scores;
    if (get_items(scores_object, &scores, 'f', 0, "scores")) return NULL;
    Py_ssize_t count = PyList_Size(list);
    Piece *pieces = NULL;
    Unigram model;
    if (scores.len / 4 != count) {
        PyErr_SetString(PyExc_ValueError, "scores must have one number per piece");
        goto done;
    }
    pieces = malloc(((size_t)count + 1) * sizeof *pieces);
    for (Py_ssize_t i = 0; pieces && i < count; i++) {
        Py_ssize_t length;
        const char *bytes = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), &length);
        if (!bytes) goto done;
        pieces[i] = (Piece){bytes, (size_t)length, ((const float *)scores.buf)[i]};
    }
    if (!pieces || unigram_build(&model, pieces, (size_t)count, keep_unknown, 1)) {
        PyErr_NoMemory();
        goto done;
    }
    unigram_free(&words->model);
    words->model = model;
    result = none();
done:
    free(pieces);
    PyBuffer_Release(&scores);
    return result;
}

/* ---- a block ---- */

typedef struct {
    PyObject_HEAD
    WordTable *table;
    Reader reader;
} Block;

static void block_free(PyObject *object) {
    Block *self = (Block *)object;
    reader_free(&self->reader);
    Py_XDECREF((PyObject *)self->table);
    free_object(object);
}

static Py_ssize_t block_length(PyObject *object) {
    return (Py_ssize_t)((Block *)object)->reader.words.count;
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
static int get_strings(Reader *self, PyObject *texts, const Range *range) {
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
static int mean_list(Reader *self, PyObject *texts, const Range *range, Rows *rows) {
    int failed;
    if (get_strings(self, texts, range)) return -1;
    Py_BEGIN_ALLOW_THREADS
    failed = mean_texts(self, range, &rows->output);
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
    int failed = !part || mean_list(&((Block *)object)->reader, part, &range, &rows);
    Py_XDECREF(part);
    release_rows(&rows);
    return failed ? NULL : none();
}

PyDoc_STRVAR(asked_doc, "asked() -> list: the words that the tokenizer must segment.");

static PyObject *block_asked(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    const Reader *self = &((Block *)object)->reader;
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
static PyObject *waiting_texts(const Reader *self, PyObject *texts) {
    PyObject *waiting = PyList_New(0);
    for (size_t i = 0; waiting && i < self->waiting_count; i++) {
        PyObject *text = PyList_GetItem(texts, (Py_ssize_t)self->waiting[i]);
        if (!text || PyList_Append(waiting, text)) Py_CLEAR(waiting);
    }
    return waiting;
}

/* Take the ids of the words in `asked`; -1 with an error if that fails. */
static int take_answers(Reader *self, PyObject *counts_object, PyObject *ids_object) {
    Py_buffer counts, ids;
    if (get_items(counts_object, &counts, 'i', 0, "counts")) return -1;
    if (get_items(ids_object, &ids, 'i', 0, "ids")) {
        PyBuffer_Release(&counts);
        return -1;
    }
    int failed = check_counts(&counts, &ids, (Py_ssize_t)self->asked_count);
    if (!failed) failed = raise_for(answer(self, counts.buf, ids.buf));
    PyBuffer_Release(&counts);
    PyBuffer_Release(&ids);
    return failed;
}

PyDoc_STRVAR(answer_doc,
             "answer(counts, ids, texts, table, out, normalize, tokens=None): take the ids, int32, "
             "of the words in `asked`, counts, int32, of each. Write the means of the waiting "
             "texts, as `mean` does.");

static PyObject *block_answer(PyObject *object, PyObject *arguments) {
    Reader *self = &((Block *)object)->reader;
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

PyDoc_STRVAR(learn_doc,
             "learn(longest, most): move words of at most `longest` characters to the table while "
             "it has fewer than `most`. No other block may read the table meanwhile.");

static PyObject *block_learn(PyObject *object, PyObject *arguments) {
    Block *self = (Block *)object;
    Py_ssize_t longest, most;
    if (!PyArg_ParseTuple(arguments, "nn", &longest, &most)) return NULL;
    Map *known = &self->table->words.map;
    return raise_for(learn(&self->reader, known, (size_t)longest, (size_t)most)) ? NULL : none();
}

PyDoc_STRVAR(words_doc, "words() -> dict: the words of this block and their ids, None for those in "
                        "`asked`.");

static PyObject *block_words(PyObject *object, PyObject *Py_UNUSED(nothing)) {
    const Reader *self = &((Block *)object)->reader;
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
    self->reader.table = &self->table->words;
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
    for (size_t i = 0; i < count; i++) wrong |= (uint32_t)ids[i] >= rows.output.averager.rows;
    for (size_t i = 0; i < texts; i++)
        wrong |= ends[i] < (i ? ends[i - 1] : 0) || (size_t)ends[i] > count;
    wrong |= (texts ? (size_t)ends[texts - 1] : 0) != count;
    for (size_t i = 0, from = 0; i < texts && !wrong && !failed; from = (size_t)ends[i++])
        failed = write_mean(&rows.output, ids + from, (size_t)ends[i] - from, count - from, i);
    if (!failed) failed = write_waiting(&rows.output);
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

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

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
