/* SIM by windows (`metrics/windows.py`) of pairs of texts, on contiguous float32 rows. A text that
   is compared with several in succession is read once. */

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED /* without the lock there is no limited API */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORIZED
#endif

#define ARRAYS 6
#define LANES 16 /* floats multiplied in parallel; a window's width is a multiple */
#define OWN_AT_A_TIME 4
#define OTHER_AT_A_TIME 2

typedef struct {
    Py_buffer views[ARRAYS];
    int held;
    const float *rows;
    size_t vocabulary, dimension;
    const int32_t *ids;
    size_t tokens;
    const int64_t *offsets;
    size_t texts;
    const int64_t *own, *other;
    double *scores;
    size_t pairs;
} Arguments;

/* The windows of one text, (count, width), and the best cosine of each. */
typedef struct {
    int64_t text; /* number of the text, initially -1 */
    size_t count, room;
    float *numbers, *best;
} Windows;

static void release(Arguments *a) {
    while (a->held) PyBuffer_Release(&a->views[--a->held]);
}

/* Get the memory and length of an array; NULL with an error for another type. */
static void *get_array(Arguments *a, PyObject *object, const char *formats, Py_ssize_t size,
                       int writable, size_t *count) {
    Py_buffer *view = &a->views[a->held];
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags)) return NULL;
    a->held++;
    if (!view->format || !strchr(formats, view->format[0]) || view->itemsize != size) {
        PyErr_SetString(PyExc_TypeError,
                        "rows must be float32, ids int32, offsets and texts int64, scores float64");
        return NULL;
    }
    *count = (size_t)(view->len / size);
    return view->buf;
}

static int are_texts(const int64_t *numbers, size_t count, size_t texts) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] < 0 || (uint64_t)numbers[i] >= texts) return 0;
    return 1;
}

/* Check that the offsets and ids of a text are in range. */
static int is_whole(const Arguments *a, int64_t text) {
    int64_t from = a->offsets[text], to = a->offsets[text + 1];
    if (from < 0 || from > to || (uint64_t)to > a->tokens) return 0;
    for (int64_t i = from; i < to; i++)
        if (a->ids[i] < 0 || (uint64_t)a->ids[i] >= a->vocabulary) return 0;
    return 1;
}

static int get_arguments(Arguments *a, PyObject **objects) {
    size_t cells, offsets, own, other;
    a->held = 0;
    if (!(a->rows = get_array(a, objects[0], "f", 4, 0, &cells))) return -1;
    if (a->views[0].ndim != 2) {
        PyErr_SetString(PyExc_ValueError, "rows must be (vocab, dim)");
        return -1;
    }
    a->vocabulary = (size_t)a->views[0].shape[0];
    a->dimension = (size_t)a->views[0].shape[1];
    if (!(a->ids = get_array(a, objects[1], "il", 4, 0, &a->tokens)) ||
        !(a->offsets = get_array(a, objects[2], "lq", 8, 0, &offsets)) ||
        !(a->own = get_array(a, objects[3], "lq", 8, 0, &own)) ||
        !(a->other = get_array(a, objects[4], "lq", 8, 0, &other)) ||
        !(a->scores = get_array(a, objects[5], "d", 8, 1, &a->pairs)))
        return -1;
    a->texts = offsets ? offsets - 1 : 0;
    if (!offsets || own != a->pairs || other != a->pairs ||
        !are_texts(a->own, a->pairs, a->texts) || !are_texts(a->other, a->pairs, a->texts)) {
        PyErr_SetString(PyExc_ValueError, "texts are out of range, or differ in number from scores");
        return -1;
    }
    return 0;
}

/* LANES floats as one vector, if the compiler supports them. */
#if defined(__GNUC__)
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
#define ADD(sum, a) ((sum) += (a))
#define MULTIPLY_ADD(sum, a, b) ((sum) += (a) * (b))
#else
typedef struct {
    float at[LANES];
} Lanes;
static void add_lanes(Lanes *sum, Lanes a) {
    for (size_t i = 0; i < LANES; i++) sum->at[i] += a.at[i];
}
static void multiply_add_lanes(Lanes *sum, const Lanes *a, const Lanes *b) {
    for (size_t i = 0; i < LANES; i++) sum->at[i] += a->at[i] * b->at[i];
}
#define ADD(sum, a) add_lanes(&(sum), a)
#define MULTIPLY_ADD(sum, a, b) multiply_add_lanes(&(sum), &(a), &(b))
#endif
#define ZEROS {0}
#define LANES_AT(numbers) (*(const Lanes *)(numbers))

static inline float total(const Lanes *lanes) {
    float numbers[LANES], sum = 0;
    memcpy(numbers, lanes, sizeof numbers);
    for (size_t i = 0; i < LANES; i++) sum += numbers[i];
    return sum;
}

static size_t rounded_up(size_t count, size_t step) { return (count + step - 1) / step * step; }

/* Write the sum of `count` rows, scaled to unit length unless it is 0, as `width` numbers. */
VECTORIZED
static void add_up(const float *rows, size_t dimension, const int32_t *ids, size_t count,
                   float *window, size_t width) {
    Lanes squares = ZEROS;
    size_t d = 0;
    for (; d + 2 * LANES <= dimension; d += 2 * LANES) {
        Lanes first = ZEROS, second = ZEROS;
        for (size_t i = 0; i < count; i++) {
            const float *row = rows + (size_t)ids[i] * dimension + d;
            ADD(first, LANES_AT(row)), ADD(second, LANES_AT(row + LANES));
        }
        memcpy(window + d, &first, sizeof first);
        memcpy(window + d + LANES, &second, sizeof second);
        MULTIPLY_ADD(squares, first, first), MULTIPLY_ADD(squares, second, second);
    }
    float square = total(&squares);
    for (; d < width; d++) {
        window[d] = 0;
        for (size_t i = 0; i < count && d < dimension; i++)
            window[d] += rows[(size_t)ids[i] * dimension + d];
        square += window[d] * window[d];
    }
    if (!(square > 0)) return;
    float factor = 1.0f / sqrtf(square);
    for (d = 0; d < width; d++) window[d] *= factor;
}

enum { DONE, NO_MEMORY, NOT_WHOLE };

/* Compute the windows of a text unless they are already there. */
static int read_text(const Arguments *a, Windows *the, int64_t text, size_t reach, size_t most) {
    if (the->text == text) return DONE;
    if (!is_whole(a, text)) return NOT_WHOLE;
    const int32_t *ids = a->ids + a->offsets[text];
    size_t count = (size_t)(a->offsets[text + 1] - a->offsets[text]);
    if (count > most) count = most;
    size_t width = rounded_up(a->dimension, LANES), held = rounded_up(count, OWN_AT_A_TIME);
    if (held > the->room) {
        free(the->numbers);
        free(the->best);
        the->text = -1;
        the->numbers = malloc(held * width * sizeof(float));
        the->best = malloc(held * sizeof(float));
        the->room = the->numbers && the->best ? held : 0;
        if (!the->room) return NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        size_t from = i > reach ? i - reach : 0, to = i + reach + 1 < count ? i + reach + 1 : count;
        add_up(a->rows, a->dimension, ids + from, to - from, the->numbers + i * width, width);
    }
    if (held > count)
        memset(the->numbers + count * width, 0, (held - count) * width * sizeof(float));
    the->count = count;
    the->text = text;
    return DONE;
}

/* Multiply four windows by two others in parallel, so that each is read less often. The sums are
   separate variables, because the compiler would keep an array in memory. */
VECTORIZED
static void multiply(const float *own, const float *other, size_t width,
                     float cosines[OWN_AT_A_TIME][OTHER_AT_A_TIME]) {
    Lanes a0 = ZEROS, a1 = ZEROS, b0 = ZEROS, b1 = ZEROS;
    Lanes c0 = ZEROS, c1 = ZEROS, d0 = ZEROS, d1 = ZEROS;
    for (size_t at = 0; at < width; at += LANES) {
        Lanes x = LANES_AT(other + at), y = LANES_AT(other + width + at);
        Lanes a = LANES_AT(own + at), b = LANES_AT(own + width + at);
        Lanes c = LANES_AT(own + 2 * width + at), d = LANES_AT(own + 3 * width + at);
        MULTIPLY_ADD(a0, a, x), MULTIPLY_ADD(a1, a, y);
        MULTIPLY_ADD(b0, b, x), MULTIPLY_ADD(b1, b, y);
        MULTIPLY_ADD(c0, c, x), MULTIPLY_ADD(c1, c, y);
        MULTIPLY_ADD(d0, d, x), MULTIPLY_ADD(d1, d, y);
    }
    cosines[0][0] = total(&a0), cosines[0][1] = total(&a1);
    cosines[1][0] = total(&b0), cosines[1][1] = total(&b1);
    cosines[2][0] = total(&c0), cosines[2][1] = total(&c1);
    cosines[3][0] = total(&d0), cosines[3][1] = total(&d1);
}

/* The mean of the best cosines, or with a `least` above 0 their geometric mean. NaN propagates. */
static double mean_best(const Windows *the, double least) {
    double total = 0;
    for (size_t i = 0; i < the->count; i++) {
        double best = the->best[i];
        total += least > 0 ? log(best < least ? least : best) : best;
    }
    double mean = total / (double)the->count;
    return least > 0 ? exp(mean) : mean;
}

static double compare(Windows *own, Windows *other, size_t width, double shift, double least) {
    if (!own->count || !other->count) return 0;
    for (size_t i = 0; i < own->count; i++) own->best[i] = -INFINITY;
    for (size_t j = 0; j < other->count; j++) other->best[j] = -INFINITY;
    double own_step = 1 / (double)own->count, other_step = 1 / (double)other->count;
    for (size_t i = 0; i < own->count; i += OWN_AT_A_TIME)
        for (size_t j = 0; j < other->count; j += OTHER_AT_A_TIME) {
            float cosines[OWN_AT_A_TIME][OTHER_AT_A_TIME];
            multiply(own->numbers + i * width, other->numbers + j * width, width, cosines);
            for (size_t k = 0; k < OWN_AT_A_TIME && i + k < own->count; k++)
                for (size_t l = 0; l < OTHER_AT_A_TIME && j + l < other->count; l++) {
                    double apart = fabs(((double)(i + k) + 0.5) * own_step -
                                        ((double)(j + l) + 0.5) * other_step);
                    float cosine = cosines[k][l] - (float)(shift * apart);
                    /* NaN propagates to the best cosine and the mean */
                    if (!(cosine <= own->best[i + k])) own->best[i + k] = cosine;
                    if (!(cosine <= other->best[j + l])) other->best[j + l] = cosine;
                }
        }
    double precision = mean_best(own, least), recall = mean_best(other, least);
    if (!(precision > 0) || !(recall > 0))
        return isnan(precision) || isnan(recall) ? NAN : 0;
    double score = 2 * precision * recall / (precision + recall);
    return score < 1 ? score : 1;
}

PyDoc_STRVAR(match_doc,
             "match(rows, ids, offsets, own, other, scores, reach, most, shift, least): write SIM "
             "of each pair of texts to scores.");

static PyObject *match(PyObject *Py_UNUSED(module), PyObject *given) {
    PyObject *objects[ARRAYS];
    Py_ssize_t reach, most;
    double shift, least;
    if (!PyArg_ParseTuple(given, "OOOOOOnndd", &objects[0], &objects[1], &objects[2], &objects[3],
                          &objects[4], &objects[5], &reach, &most, &shift, &least))
        return NULL;
    Arguments a;
    if (get_arguments(&a, objects) || reach < 0 || most < 0) {
        release(&a);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "reach and most must be 0 or more");
        return NULL;
    }
    Windows own = {.text = -1}, other = {.text = -1};
    size_t width = rounded_up(a.dimension, LANES);
    int failed = DONE;
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < a.pairs && !failed; i++) {
        failed = read_text(&a, &own, a.own[i], (size_t)reach, (size_t)most);
        if (!failed) failed = read_text(&a, &other, a.other[i], (size_t)reach, (size_t)most);
        if (!failed) a.scores[i] = compare(&own, &other, width, shift, least);
    }
    free(own.numbers);
    free(own.best);
    free(other.numbers);
    free(other.best);
    Py_END_ALLOW_THREADS
    release(&a);
    if (failed == NO_MEMORY) return PyErr_NoMemory();
    if (failed) {
        PyErr_SetString(PyExc_ValueError, "the ids of a text are out of range");
        return NULL;
    }
    Py_INCREF(Py_None);
    return Py_None;
}

static PyMethodDef methods[] = {
    {"match", match, METH_VARARGS, match_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_windows",
    .m_doc = "SIM by windows; see metrics/windows.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__windows(void) { return PyModuleDef_Init(&module); }
