/* Strings to averaged table rows, for `encoding/static.py`, which says what each function is for.

   A WordTable maps a word's bytes to its token ids. `scan` looks up the words of many texts,
   `mean` averages the rows of their ids; both run without the interpreter's lock. Words are added
   between the two by one thread at a time. Words the table lacks are numbered and given back; with
   a Unigram model, those in ASCII are cut into pieces on the way, as sentencepiece cuts them.

   A word is a run of bytes above the space, but for DEL: white space and control characters of
   ASCII are spaces in the normalisation of `text/normalize.py`. Upper-case ASCII is lowered in
   words that are ASCII altogether, if the table says so. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORIZED
#endif
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)0)
#endif

#define IDS_AT_A_TIME 32 /* float sums of more would round to more than 1e-6 */
#define ROWS_AHEAD 8

/* ---- growing arrays and a map from bytes to numbers 0, 1, 2, ... ---- */

static int reserve(void **items, size_t *capacity, size_t wanted, size_t size) {
    if (wanted <= *capacity) return 0;
    size_t larger = *capacity ? *capacity : 64;
    while (larger < wanted) larger *= 2;
    void *moved = realloc(*items, larger * size);
    if (!moved) return -1;
    *items = moved;
    *capacity = larger;
    return 0;
}

#define SHORT 16 /* bytes of a word that lie beside its hash: one line of the cache a look-up */

typedef struct {
    uint64_t hash;
    uint32_t length;
    union {
        char bytes[SHORT];
        size_t start; /* of a longer word, in the map's bytes */
    } word;
} Key;

typedef struct {
    char *bytes;
    size_t bytes_used, bytes_capacity;
    Key *keys;
    size_t count, capacity;
    uint32_t *slots; /* number of a key plus one; 0 for none */
    size_t mask;     /* number of slots less one */
} Map;

static void map_free(Map *map) {
    free(map->bytes);
    free(map->keys);
    free(map->slots);
    memset(map, 0, sizeof *map);
}

static uint64_t hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length, part;
    while (length >= 8) {
        memcpy(&part, bytes, 8);
        hash = (hash ^ part) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
        bytes += 8;
        length -= 8;
    }
    part = 0;
    memcpy(&part, bytes, length);
    hash = (hash ^ part) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
    hash *= 0xC4CEB9FE1A85EC53u;
    return hash ^ (hash >> 29);
}

static const char *key_bytes(const Map *map, const Key *key) {
    return key->length <= SHORT ? key->word.bytes : map->bytes + key->word.start;
}

static int64_t map_find(const Map *map, const char *bytes, size_t length, uint64_t hash) {
    if (!map->slots) return -1;
    for (size_t slot = hash & map->mask;; slot = (slot + 1) & map->mask) {
        uint32_t number = map->slots[slot];
        if (!number) return -1;
        const Key *key = &map->keys[number - 1];
        if (key->hash == hash && key->length == length &&
            !memcmp(key_bytes(map, key), bytes, length))
            return number - 1;
    }
}

static void map_place(Map *map, uint32_t number) {
    size_t slot = map->keys[number].hash & map->mask;
    while (map->slots[slot]) slot = (slot + 1) & map->mask;
    map->slots[slot] = number + 1;
}

/* The number of a new key, or -1 without memory. */
static int64_t map_add(Map *map, const char *bytes, size_t length, uint64_t hash) {
    if (map->count >= INT32_MAX - 1 || length > UINT32_MAX) return -1;
    size_t apart = length <= SHORT ? 0 : length;
    if (reserve((void **)&map->keys, &map->capacity, map->count + 1, sizeof(Key)) ||
        (apart && reserve((void **)&map->bytes, &map->bytes_capacity, map->bytes_used + apart, 1)))
        return -1;
    if (!map->slots || map->count * 2 >= map->mask) {
        size_t wanted = map->slots ? (map->mask + 1) * 2 : 256;
        uint32_t *slots = calloc(wanted, sizeof(uint32_t));
        if (!slots) return -1;
        free(map->slots);
        map->slots = slots;
        map->mask = wanted - 1;
        for (size_t number = 0; number < map->count; number++) map_place(map, (uint32_t)number);
    }
    Key *key = &map->keys[map->count];
    key->hash = hash;
    key->length = (uint32_t)length;
    if (apart) key->word.start = map->bytes_used;
    memcpy(apart ? map->bytes + map->bytes_used : key->word.bytes, bytes, length);
    map->bytes_used += apart;
    map_place(map, (uint32_t)map->count);
    return (int64_t)map->count++;
}

/* ---- a Unigram model: pieces in a trie, with their scores ---- */

#define UNKNOWN_ID 1
#define UNKNOWN_PENALTY 10.0f
#define NO_PIECE (-1)

typedef struct {
    uint64_t *edges; /* node << 8 | byte, plus one; 0 for none */
    uint32_t *children;
    size_t edge_count, mask;
    int32_t *pieces; /* of each node */
    size_t nodes, capacity;
    const float *scores;
    float *scores_held;
    float unknown_score;
    int32_t mark; /* the piece that is the space mark alone */
    int keep_unknown;
} Unigram;

static const char SPACE_MARK[] = "\xE2\x96\x81";

static void unigram_free(Unigram *model) {
    free(model->edges);
    free(model->children);
    free(model->pieces);
    free(model->scores_held);
    memset(model, 0, sizeof *model);
}

static size_t edge_slot(const Unigram *model, uint64_t edge) {
    uint64_t hash = edge * 0x9E3779B97F4A7C15u;
    size_t slot = (hash ^ (hash >> 32)) & model->mask;
    while (model->edges[slot] && model->edges[slot] != edge) slot = (slot + 1) & model->mask;
    return slot;
}

/* The child of a node, or 0, which is the root and nobody's child. */
static uint32_t child_of(const Unigram *model, uint32_t node, unsigned char byte) {
    size_t slot = edge_slot(model, ((uint64_t)node << 8 | byte) + 1);
    return model->edges[slot] ? model->children[slot] : 0;
}

static int add_node(Unigram *model) {
    if (reserve((void **)&model->pieces, &model->capacity, model->nodes + 1, sizeof(int32_t)))
        return -1;
    model->pieces[model->nodes++] = NO_PIECE;
    return 0;
}

static int add_edge(Unigram *model, uint32_t node, unsigned char byte) {
    if (!model->edges || model->edge_count * 2 >= model->mask) {
        size_t wanted = model->edges ? (model->mask + 1) * 2 : 1024, old = model->mask + 1;
        uint64_t *edges = model->edges;
        uint32_t *children = model->children;
        model->edges = calloc(wanted, sizeof *model->edges);
        model->children = malloc(wanted * sizeof *model->children);
        model->mask = wanted - 1;
        for (size_t i = 0; edges && model->edges && model->children && i < old; i++)
            if (edges[i]) {
                size_t slot = edge_slot(model, edges[i]);
                model->edges[slot] = edges[i];
                model->children[slot] = children[i];
            }
        free(edges);
        free(children);
        if (!model->edges || !model->children) return -1;
    }
    uint64_t edge = ((uint64_t)node << 8 | byte) + 1;
    size_t slot = edge_slot(model, edge);
    model->edges[slot] = edge;
    model->children[slot] = (uint32_t)model->nodes;
    model->edge_count++;
    return add_node(model);
}

static int add_piece(Unigram *model, const char *bytes, size_t length, int32_t piece) {
    uint32_t node = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        uint32_t child = model->edges ? child_of(model, node, byte) : 0;
        if (!child) {
            child = (uint32_t)model->nodes;
            if (add_edge(model, node, byte)) return -1;
        }
        node = child;
    }
    model->pieces[node] = piece;
    return 0;
}

typedef struct {
    float score;
    int32_t piece; /* that ends here on the best path; NO_PIECE before any does */
    uint32_t start;
} Step;

typedef struct {
    Step *steps;
    size_t steps_capacity;
    char *text;
    size_t text_capacity;
    int32_t *ids;
    size_t count, capacity;
} Pieces;

/* Append the ids of an ASCII word: the path of the best sum of scores; of equal ones that whose
   last piece starts first, as in sentencepiece. */
static int cut_word(const Unigram *model, Pieces *pieces, const char *word, size_t length) {
    size_t size = length + 3;
    if (size >= UINT32_MAX ||
        reserve((void **)&pieces->text, &pieces->text_capacity, size, 1) ||
        reserve((void **)&pieces->steps, &pieces->steps_capacity, size + 1, sizeof(Step)))
        return -1;
    memcpy(pieces->text, SPACE_MARK, 3);
    memcpy(pieces->text + 3, word, length);
    Step *steps = pieces->steps;
    for (size_t i = 0; i <= size; i++) steps[i] = (Step){0, NO_PIECE, 0};
    for (size_t start = 0; start < size; start += start ? 1 : 3) {
        size_t character = start ? start + 1 : 3;
        int has_character = 0;
        uint32_t node = 0;
        for (size_t end = start; end < size;) {
            node = child_of(model, node, (unsigned char)pieces->text[end++]);
            if (!node) break;
            int32_t piece = model->pieces[node];
            if (piece == NO_PIECE) continue;
            float score = steps[start].score + model->scores[piece];
            if (steps[end].piece == NO_PIECE || score > steps[end].score)
                steps[end] = (Step){score, piece, (uint32_t)start};
            has_character |= end == character;
        }
        if (!has_character) {
            float score = steps[start].score + model->unknown_score;
            if (steps[character].piece == NO_PIECE || score > steps[character].score)
                steps[character] = (Step){score, UNKNOWN_ID, (uint32_t)start};
        }
    }
    size_t first = pieces->count;
    for (size_t end = size; end > 0; end = steps[end].start) {
        int32_t piece = steps[end].piece;
        int is_again = pieces->count > first && pieces->ids[pieces->count - 1] == UNKNOWN_ID;
        if (piece == UNKNOWN_ID && is_again) continue; /* a run of unknown characters is one */
        if (reserve((void **)&pieces->ids, &pieces->capacity, pieces->count + 1, sizeof(int32_t)))
            return -1;
        pieces->ids[pieces->count++] = piece;
    }
    int32_t *ids = pieces->ids + first;
    size_t count = pieces->count - first, kept = 0;
    for (size_t i = 0; i < count / 2; i++) {
        int32_t other = ids[i];
        ids[i] = ids[count - 1 - i];
        ids[count - 1 - i] = other;
    }
    if (model->keep_unknown) return 0;
    for (size_t i = 0; i < count; i++) { /* and a bare mark before one goes with it */
        int is_bare = ids[i] == model->mark && i + 1 < count && ids[i + 1] == UNKNOWN_ID;
        if (ids[i] != UNKNOWN_ID && !is_bare) ids[kept++] = ids[i];
    }
    pieces->count = first + kept;
    return 0;
}

/* ---- the table ---- */

typedef struct {
    PyObject_HEAD
    Map words;
    Unigram model;
    size_t *starts; /* of each word's ids, and one past the last */
    size_t starts_capacity;
    int32_t *ids;
    size_t ids_capacity;
    int lowercase;
} WordTable;

static PyObject *table_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    int lowercase = 1;
    static char *names[] = {"lowercase", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|p", names, &lowercase)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    WordTable *self = (WordTable *)allocate(type, 0);
    if (!self) return NULL;
    self->lowercase = lowercase;
    if (reserve((void **)&self->starts, &self->starts_capacity, 1, sizeof(size_t))) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->starts[0] = 0;
    return (PyObject *)self;
}

static void table_free(PyObject *object) {
    WordTable *self = (WordTable *)object;
    PyTypeObject *type = Py_TYPE(object);
    map_free(&self->words);
    unigram_free(&self->model);
    free(self->starts);
    free(self->ids);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static Py_ssize_t table_length(PyObject *object) {
    return (Py_ssize_t)((WordTable *)object)->words.count;
}

/* A contiguous buffer of int32 (i), int64 (q) or float32 (f); of whole numbers also plain bytes. */
static int get_items(PyObject *object, Py_buffer *view, char kind, int writable,
                     const char *name) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags)) return -1;
    Py_ssize_t size = kind == 'q' ? 8 : 4;
    const char *format = view->format ? view->format : "B";
    int is_whole = strchr(kind == 'q' ? "qlQL" : "iIlL", format[0]) && view->itemsize == size;
    int is_bytes = view->itemsize == 1 && view->len % size == 0;
    if (kind == 'f' ? format[0] != 'f' : !is_whole && !is_bytes) {
        const char *wanted = kind == 'f' ? "float32" : kind == 'q' ? "int64" : "int32";
        PyErr_Format(PyExc_TypeError, "%s must be %s", name, wanted);
        PyBuffer_Release(view);
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(add_doc,
             "add(words, counts, ids): remember words; counts int32 says how many of ids, int32, "
             "are each one's. Words that are there already are passed over.");

static PyObject *table_add(PyObject *object, PyObject *arguments) {
    WordTable *self = (WordTable *)object;
    PyObject *words, *counts_object, *ids_object;
    if (!PyArg_ParseTuple(arguments, "O!OO", &PyList_Type, &words, &counts_object, &ids_object))
        return NULL;
    Py_buffer counts_view, ids_view;
    if (get_items(counts_object, &counts_view, 'i', 0, "counts")) return NULL;
    if (get_items(ids_object, &ids_view, 'i', 0, "ids")) {
        PyBuffer_Release(&counts_view);
        return NULL;
    }
    const int32_t *counts = counts_view.buf, *ids = ids_view.buf;
    size_t given = (size_t)ids_view.len / 4, used = 0;
    Py_ssize_t number = PyList_Size(words);
    PyObject *result = NULL;
    if (counts_view.len / 4 != number) {
        PyErr_SetString(PyExc_ValueError, "counts must be as many as words");
        goto done;
    }
    for (Py_ssize_t i = 0; i < number && used <= given; i++)
        used = counts[i] < 0 ? given + 1 : used + (size_t)counts[i];
    if (used != given) {
        PyErr_SetString(PyExc_ValueError, "counts must sum to the number of ids");
        goto done;
    }
    used = 0;
    for (Py_ssize_t i = 0; i < number; i++) {
        Py_ssize_t length;
        const char *bytes = PyUnicode_AsUTF8AndSize(PyList_GetItem(words, i), &length);
        if (!bytes) goto done;
        uint64_t hash = hash_bytes(bytes, (size_t)length);
        if (map_find(&self->words, bytes, (size_t)length, hash) < 0) {
            size_t start = self->starts[self->words.count], end = start + (size_t)counts[i];
            if (reserve((void **)&self->ids, &self->ids_capacity, end + 1, sizeof(int32_t)) ||
                reserve((void **)&self->starts, &self->starts_capacity, self->words.count + 2,
                        sizeof(size_t)) ||
                map_add(&self->words, bytes, (size_t)length, hash) < 0) {
                PyErr_NoMemory();
                goto done;
            }
            memcpy(self->ids + start, ids + used, (size_t)counts[i] * sizeof(int32_t));
            self->starts[self->words.count] = end;
        }
        used += (size_t)counts[i];
    }
    result = Py_None;
    Py_INCREF(result);
done:
    PyBuffer_Release(&counts_view);
    PyBuffer_Release(&ids_view);
    return result;
}

PyDoc_STRVAR(cut_doc,
             "cut_with(pieces, scores, keep_unknown): a Unigram model, for words in ASCII. pieces "
             "by id, '' for those that text cannot give; scores float32.");

static PyObject *table_cut_with(PyObject *object, PyObject *arguments) {
    WordTable *self = (WordTable *)object;
    PyObject *pieces, *scores_object;
    int keep_unknown;
    if (!PyArg_ParseTuple(arguments, "O!Op", &PyList_Type, &pieces, &scores_object, &keep_unknown))
        return NULL;
    Py_buffer view;
    if (get_items(scores_object, &view, 'f', 0, "scores")) return NULL;
    Unigram model = {0};
    Py_ssize_t count = PyList_Size(pieces);
    const float *scores = view.buf;
    float lowest = 0;
    int failed = 1;
    model.mark = NO_PIECE;
    model.keep_unknown = keep_unknown;
    if (view.len / 4 != count) {
        PyErr_SetString(PyExc_ValueError, "scores must be as many as pieces");
        goto done;
    }
    model.scores = model.scores_held = malloc((size_t)view.len + 4);
    if (!model.scores || add_node(&model) || add_edge(&model, 0, 0)) {
        PyErr_NoMemory();
        goto done;
    }
    memcpy(model.scores_held, scores, (size_t)view.len);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length;
        const char *bytes = PyUnicode_AsUTF8AndSize(PyList_GetItem(pieces, i), &length);
        if (!bytes) goto done;
        if (!length) continue;
        if (scores[i] < lowest) lowest = scores[i];
        if (length == 3 && !memcmp(bytes, SPACE_MARK, 3)) model.mark = (int32_t)i;
        if (add_piece(&model, bytes, (size_t)length, (int32_t)i)) {
            PyErr_NoMemory();
            goto done;
        }
    }
    model.unknown_score = lowest - UNKNOWN_PENALTY;
    unigram_free(&self->model);
    self->model = model;
    failed = 0;
done:
    PyBuffer_Release(&view);
    if (failed) {
        unigram_free(&model);
        return NULL;
    }
    Py_INCREF(Py_None);
    return Py_None;
}

/* ---- scan ---- */

typedef struct {
    int32_t *words; /* number in the table, or minus one minus the number of a missing word */
    size_t count, capacity;
    Map missing;
    int32_t *counts; /* of the ids of each missing word; -1 for one that is not cut here */
    size_t counts_capacity;
    Pieces pieces;
    char *word;
    size_t word_capacity;
} Scan;

static int64_t add_missing(const WordTable *self, Scan *scan, const char *word, size_t size,
                           uint64_t hash, int is_ascii) {
    size_t number = scan->missing.count, before = scan->pieces.count;
    int is_cut = is_ascii && self->model.nodes;
    if (reserve((void **)&scan->counts, &scan->counts_capacity, number + 1, sizeof(int32_t)) ||
        (is_cut && cut_word(&self->model, &scan->pieces, word, size)))
        return -1;
    scan->counts[number] = is_cut ? (int32_t)(scan->pieces.count - before) : -1;
    return map_add(&scan->missing, word, size, hash);
}

static int scan_text(const WordTable *self, Scan *scan, const unsigned char *text, size_t length) {
    size_t at = 0;
    while (at < length) {
        while (at < length && (text[at] <= 32 || text[at] == 127)) at++;
        if (at == length) break;
        size_t start = at;
        unsigned char seen = 0;
        while (at < length && text[at] > 32 && text[at] != 127) seen |= text[at++];
        size_t size = at - start;
        const char *word = (const char *)text + start;
        if (self->lowercase && seen < 128) {
            if (reserve((void **)&scan->word, &scan->word_capacity, size, 1)) return -1;
            for (size_t i = 0; i < size; i++) {
                unsigned char c = text[start + i];
                scan->word[i] = (char)(c + ((unsigned char)(c - 'A') < 26 ? 32 : 0));
            }
            word = scan->word;
        }
        uint64_t hash = hash_bytes(word, size);
        int64_t number = map_find(&self->words, word, size, hash);
        if (number < 0) {
            int64_t missing = map_find(&scan->missing, word, size, hash);
            if (missing < 0) missing = add_missing(self, scan, word, size, hash, seen < 128);
            if (missing < 0) return -1;
            number = -1 - missing;
        }
        if (reserve((void **)&scan->words, &scan->capacity, scan->count + 1, sizeof(int32_t)))
            return -1;
        scan->words[scan->count++] = (int32_t)number;
    }
    return 0;
}

static PyObject *as_bytes(const void *items, size_t count, size_t size) {
    return PyBytes_FromStringAndSize(count ? (const char *)items : "", (Py_ssize_t)(count * size));
}

PyDoc_STRVAR(scan_doc,
             "scan(texts, start, stop) -> (words int32, ends int64, missing, counts int32, ids "
             "int32): the words of texts, all together; where each text's end; the distinct words "
             "that the table lacks, numbered -1, -2, ... among the words; and how many of ids are "
             "each one's, -1 for a word that was not cut here.");

static PyObject *table_scan(PyObject *object, PyObject *arguments) {
    WordTable *self = (WordTable *)object;
    PyObject *given, *texts, *result = NULL;
    Py_ssize_t start, stop;
    if (!PyArg_ParseTuple(arguments, "Onn", &given, &start, &stop)) return NULL;
    PyObject *slice = PySequence_GetSlice(given, start, stop);
    if (!slice) return NULL;
    texts = PySequence_List(slice); /* keeps the strings alive */
    Py_DECREF(slice);
    if (!texts) return NULL;
    Py_ssize_t count = PyList_Size(texts);
    Scan scan = {0};
    const char **bytes = malloc(((size_t)count + 1) * sizeof *bytes);
    size_t *sizes = malloc(((size_t)count + 1) * sizeof *sizes);
    int64_t *ends = malloc(((size_t)count + 1) * sizeof *ends);
    int failed = !bytes || !sizes || !ends;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        PyObject *text = PyList_GetItem(texts, i); /* the list's own */
        if (!text) goto done;
        if (!PyUnicode_Check(text)) {
            PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(text), "__name__");
            if (name)
                PyErr_Format(PyExc_TypeError, "texts[%zd] must be a string, got %U", start + i,
                             name);
            Py_XDECREF(name);
            goto done;
        }
        Py_ssize_t length;
        bytes[i] = PyUnicode_AsUTF8AndSize(text, &length);
        if (!bytes[i]) goto done;
        sizes[i] = (size_t)length;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        failed = scan_text(self, &scan, (const unsigned char *)bytes[i], sizes[i]);
        ends[i] = (int64_t)scan.count;
    }
    Py_END_ALLOW_THREADS
    if (failed) {
        PyErr_NoMemory();
        goto done;
    }
    PyObject *missing = PyList_New((Py_ssize_t)scan.missing.count);
    for (size_t i = 0; missing && i < scan.missing.count; i++) {
        const Key *key = &scan.missing.keys[i];
        PyObject *word = PyUnicode_DecodeUTF8(key_bytes(&scan.missing, key),
                                              (Py_ssize_t)key->length, NULL);
        if (!word) Py_CLEAR(missing);
        else PyList_SetItem(missing, (Py_ssize_t)i, word);
    }
    if (missing)
        result = Py_BuildValue(
            "(NNNNN)", as_bytes(scan.words, scan.count, sizeof(int32_t)),
            as_bytes(ends, (size_t)count, sizeof(int64_t)), missing,
            as_bytes(scan.counts, scan.missing.count, sizeof(int32_t)),
            as_bytes(scan.pieces.ids, scan.pieces.count, sizeof(int32_t)));
done:
    map_free(&scan.missing);
    free(scan.words);
    free(scan.word);
    free(scan.counts);
    free(scan.pieces.steps);
    free(scan.pieces.text);
    free(scan.pieces.ids);
    free(bytes);
    free(sizes);
    free(ends);
    Py_DECREF(texts);
    return result;
}

/* ---- mean ---- */

VECTORIZED
static void add_rows(const float *table, size_t dimension, const int32_t *ids, size_t count,
                     float *sum) {
    size_t i = 0;
    for (; i + 2 <= count; i += 2) {
        const float *a = table + (size_t)ids[i] * dimension;
        const float *b = table + (size_t)ids[i + 1] * dimension;
        if (i + ROWS_AHEAD + 1 < count) {
            const char *next = (const char *)(table + (size_t)ids[i + ROWS_AHEAD] * dimension);
            const char *after = (const char *)(table + (size_t)ids[i + ROWS_AHEAD + 1] * dimension);
            for (size_t line = 0; line < dimension * sizeof(float); line += 256) {
                PREFETCH(next + line);
                PREFETCH(after + line);
            }
        }
        for (size_t d = 0; d < dimension; d++) sum[d] += a[d] + b[d];
    }
    if (i < count) {
        const float *a = table + (size_t)ids[i] * dimension;
        for (size_t d = 0; d < dimension; d++) sum[d] += a[d];
    }
}

VECTORIZED
static void scale(float *vector, size_t dimension, float factor) {
    for (size_t d = 0; d < dimension; d++) vector[d] *= factor;
}

#define LANES 16

VECTORIZED
static double square(const float *vector, size_t dimension) {
    double lanes[LANES] = {0}, total = 0; /* side by side: one sum alone would wait for itself */
    size_t d = 0;
    for (; d + LANES <= dimension; d += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)vector[d + lane] * vector[d + lane];
    for (; d < dimension; d++) total += (double)vector[d] * vector[d];
    for (size_t lane = 0; lane < LANES; lane++) total += lanes[lane];
    return total;
}

typedef struct {
    const float *table;
    size_t dimension;
    double *total; /* of a long text, so that its rounding errors stay small */
    float *sum;    /* where the mean goes */
    int32_t ids[IDS_AT_A_TIME];
    size_t held, count;
    int is_long;
} Bag;

static void empty_bag(Bag *bag, int more) {
    add_rows(bag->table, bag->dimension, bag->ids, bag->held, bag->sum);
    bag->held = 0;
    if (more || bag->is_long) {
        for (size_t d = 0; d < bag->dimension; d++) {
            bag->total[d] = (bag->is_long ? bag->total[d] : 0) + bag->sum[d];
            bag->sum[d] = 0;
        }
        bag->is_long = 1;
    }
}

static void fill_bag(Bag *bag, const int32_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bag->held == IDS_AT_A_TIME) empty_bag(bag, 1);
        bag->ids[bag->held++] = ids[i];
    }
    bag->count += count;
}

static void finish_bag(Bag *bag, int normalize) {
    empty_bag(bag, 0);
    if (bag->is_long)
        for (size_t d = 0; d < bag->dimension; d++)
            bag->sum[d] = (float)(bag->total[d] / (double)bag->count);
    else if (bag->count > 1)
        scale(bag->sum, bag->dimension, 1.0f / (float)bag->count);
    if (normalize) {
        double norm = sqrt(square(bag->sum, bag->dimension));
        if (norm > 1e-30) scale(bag->sum, bag->dimension, (float)(1.0 / norm));
        else if (norm > 0)
            for (size_t d = 0; d < bag->dimension; d++)
                bag->sum[d] = (float)(bag->sum[d] / norm);
    }
}

PyDoc_STRVAR(mean_doc,
             "mean(words, ends, missing_ends, missing_ids, table, out, normalize): write the mean "
             "of the table's rows, float32 (vocab, dim), over the ids of each text's words, which "
             "`scan` gave, to out, float32 (texts, dim). missing_ends, int64, says where each "
             "missing word's ids end in missing_ids, int32. A text without ids gets zeros.");

static PyObject *table_mean(PyObject *object, PyObject *arguments) {
    WordTable *self = (WordTable *)object;
    PyObject *given[6];
    int normalize;
    if (!PyArg_ParseTuple(arguments, "OOOOOOp", &given[0], &given[1], &given[2], &given[3],
                          &given[4], &given[5], &normalize))
        return NULL;
    static const char *names[] = {"words", "ends", "missing_ends", "missing_ids", "table", "out"};
    static const char kinds[] = "iqqiff";
    Py_buffer views[6];
    for (int i = 0; i < 6; i++)
        if (get_items(given[i], &views[i], kinds[i], i == 5, names[i])) {
            while (i--) PyBuffer_Release(&views[i]);
            return NULL;
        }
    const int32_t *words = views[0].buf, *missing_ids = views[3].buf;
    const int64_t *ends = views[1].buf, *missing_ends = views[2].buf;
    size_t texts = (size_t)views[1].len / 8, known = self->words.count;
    size_t word_count = (size_t)views[0].len / 4, missing = (size_t)views[2].len / 8;
    PyObject *result = NULL;
    size_t dimension = views[4].ndim == 2 ? (size_t)views[4].shape[1] : 0;
    double *total = malloc((dimension + 1) * sizeof(double));
    int32_t highest = 0;
    int wrong = !dimension || dimension * texts * 4 != (size_t)views[5].len ||
                (texts ? (size_t)ends[texts - 1] != word_count : word_count > 0);
    size_t rows = dimension ? (size_t)views[4].len / 4 / dimension : 0;
    if (!total) {
        PyErr_NoMemory();
        goto done;
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "ends, words and out do not belong together");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < word_count && !wrong; i++)
        wrong = words[i] >= 0 ? (size_t)words[i] >= known : (size_t)(-1 - words[i]) >= missing;
    for (size_t i = 0; i < texts && !wrong; i++)
        wrong = ends[i] < (i ? ends[i - 1] : 0) || (size_t)ends[i] > word_count;
    for (size_t i = 0; i < missing && !wrong; i++)
        wrong = missing_ends[i] < (i ? missing_ends[i - 1] : 0) ||
                (size_t)missing_ends[i] > (size_t)views[3].len / 4;
    for (size_t i = 0; i < (size_t)views[3].len / 4; i++) {
        if (missing_ids[i] < 0) wrong = 1;
        if (missing_ids[i] > highest) highest = missing_ids[i];
    }
    for (size_t text = 0, word = 0; text < texts && !wrong; text++) {
        Bag bag;
        bag.table = views[4].buf;
        bag.dimension = dimension;
        bag.total = total;
        bag.sum = (float *)views[5].buf + text * dimension;
        bag.held = bag.count = 0;
        bag.is_long = 0;
        memset(bag.sum, 0, dimension * sizeof(float));
        for (; word < (size_t)ends[text] && !wrong; word++) {
            int32_t number = words[word];
            const int32_t *ids;
            size_t count;
            if (number >= 0) {
                ids = self->ids + self->starts[number];
                count = self->starts[number + 1] - self->starts[number];
                for (size_t i = 0; i < count; i++)
                    if (ids[i] < 0 || (size_t)ids[i] >= rows) wrong = 1;
            } else {
                size_t m = (size_t)(-1 - number), from = m ? (size_t)missing_ends[m - 1] : 0;
                ids = missing_ids + from;
                count = (size_t)missing_ends[m] - from;
                if ((size_t)highest >= rows) wrong = 1;
            }
            if (!wrong) fill_bag(&bag, ids, count);
        }
        if (!wrong) finish_bag(&bag, normalize);
    }
    Py_END_ALLOW_THREADS
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "an id or a word number is out of range");
        goto done;
    }
    result = Py_None;
    Py_INCREF(result);
done:
    free(total);
    for (int i = 0; i < 6; i++) PyBuffer_Release(&views[i]);
    return result;
}

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"add", table_add, METH_VARARGS, add_doc},
    {"cut_with", table_cut_with, METH_VARARGS, cut_doc},
    {"scan", table_scan, METH_VARARGS, scan_doc},
    {"mean", table_mean, METH_VARARGS, mean_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, table_new},
    {Py_tp_dealloc, table_free},
    {Py_tp_methods, methods},
    {Py_sq_length, table_length},
    {Py_tp_doc, "WordTable(lowercase=True): words with the ids of their tokens."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "paraphrastic_hf.encoding._words.WordTable",
    .basicsize = sizeof(WordTable),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static int execute(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "WordTable", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_words",
    .m_doc = "Words of texts, and means of their rows; see encoding/static.py.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__words(void) { return PyModuleDef_Init(&module); }
