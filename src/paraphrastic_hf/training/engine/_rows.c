/* Arithmetic of `RowAdam` (`training/engine/row_adam.py`) on contiguous float32 tables. Each row is
   read and written once. */

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED /* without the lock there is no limited API */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORIZED
#endif

#define TABLES 3 /* weights, first and second moments */

typedef struct {
    Py_buffer views[8];
    int held;
    float *tables[TABLES];
    size_t rows, dimension;
} Arguments;

static void release(Arguments *arguments) {
    while (arguments->held) PyBuffer_Release(&arguments->views[--arguments->held]);
}

/* Get the memory and length of an array with `size` bytes per number; NULL with an error for
   another type. */
static void *get_array(Arguments *arguments, PyObject *object, const char *formats,
                       Py_ssize_t size, int writable, size_t *count) {
    Py_buffer *view = &arguments->views[arguments->held];
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags)) return NULL;
    arguments->held++;
    const char *format = formats;
    while (*format && view->format && *format != view->format[0]) format++;
    if (!view->format || !*format || view->itemsize != size) {
        PyErr_SetString(PyExc_TypeError,
                        "tables must be float32, rows and steps int64, travel float64");
        return NULL;
    }
    *count = (size_t)(view->len / size);
    return view->buf;
}

/* Get the three tables, which must have one shape. */
static int get_tables(Arguments *arguments, PyObject **objects) {
    size_t first = 0;
    for (int i = 0; i < TABLES; i++) {
        size_t count;
        arguments->tables[i] = get_array(arguments, objects[i], "f", 4, 1, &count);
        if (!arguments->tables[i]) return -1;
        const Py_buffer *view = &arguments->views[arguments->held - 1];
        if (view->ndim != 2 || (i && count != first)) {
            PyErr_SetString(PyExc_ValueError, "the tables must have one shape, (rows, dim)");
            return -1;
        }
        first = count;
        arguments->rows = (size_t)view->shape[0];
        arguments->dimension = (size_t)view->shape[1];
    }
    return 0;
}

static int rows_fit(const int64_t *rows, size_t count, size_t limit) {
    for (size_t i = 0; i < count; i++)
        if (rows[i] < 0 || (size_t)rows[i] >= limit) {
            PyErr_SetString(PyExc_ValueError, "a row is out of the table's range");
            return 0;
        }
    return 1;
}

static PyObject *finish(Arguments *arguments, int failed) {
    release(arguments);
    if (failed) return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

VECTORIZED
static void move_row(float *w, float *m, float *v, size_t dimension, float travel, float decay_1,
                     float decay_2, float eps) {
    for (size_t d = 0; d < dimension; d++) {
        w[d] -= travel * (m[d] / (sqrtf(v[d]) + eps));
        m[d] *= decay_1;
        v[d] *= decay_2;
    }
}

PyDoc_STRVAR(catch_up_doc,
             "catch_up(weights, first, second, last_step, rows, step, travel, decay_1, decay_2, eps): "
             "apply to rows, which may repeat, the steps missed since last_step; -1 means none. "
             "travel[k], float64, is the total step size of k missed steps. decay_1 and decay_2, "
             "float32, are the decays to the power k.");

static PyObject *catch_up(PyObject *Py_UNUSED(module), PyObject *given) {
    PyObject *tables[TABLES], *last_object, *rows_object, *steps[3];
    long long step;
    double eps;
    if (!PyArg_ParseTuple(given, "OOOOOLOOOd", &tables[0], &tables[1], &tables[2], &last_object,
                          &rows_object, &step, &steps[0], &steps[1], &steps[2], &eps))
        return NULL;
    Arguments a = {.held = 0};
    size_t rows_count, last_count, known[3];
    int64_t *last, *rows;
    double *travel;
    float *decays[2];
    int failed = get_tables(&a, tables) ||
                 !(last = get_array(&a, last_object, "lq", 8, 1, &last_count)) ||
                 !(rows = get_array(&a, rows_object, "lq", 8, 0, &rows_count)) ||
                 !(travel = get_array(&a, steps[0], "d", 8, 0, &known[0])) ||
                 !(decays[0] = get_array(&a, steps[1], "f", 4, 0, &known[1])) ||
                 !(decays[1] = get_array(&a, steps[2], "f", 4, 0, &known[2]));
    if (failed) return finish(&a, 1);
    if (last_count != a.rows || !rows_fit(rows, rows_count, a.rows)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "last_step must have one number per row");
        return finish(&a, 1);
    }
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < rows_count && !failed; i++) {
        int64_t row = rows[i], missed = step - last[row];
        size_t from = (size_t)row * a.dimension;
        if (missed <= 0 || last[row] < 0) continue;
        if ((size_t)missed >= known[0] || (size_t)missed >= known[1] || (size_t)missed >= known[2])
            failed = 1;
        else
            move_row(a.tables[0] + from, a.tables[1] + from, a.tables[2] + from, a.dimension,
                     (float)travel[missed], decays[0][missed], decays[1][missed], (float)eps);
        last[row] = step;
    }
    Py_END_ALLOW_THREADS
    if (failed) PyErr_SetString(PyExc_ValueError, "a row missed more steps than travel covers");
    return finish(&a, failed);
}

VECTORIZED
static void update_row(float *w, float *m, float *v, const float *g, size_t dimension, float rate,
                       float keep_1, float keep_2, float eps) {
    for (size_t d = 0; d < dimension; d++) {
        m[d] += (g[d] - m[d]) * (1 - keep_1);
        v[d] = v[d] * keep_2 + g[d] * g[d] * (1 - keep_2);
        w[d] -= rate * (m[d] / (sqrtf(v[d]) + eps));
    }
}

PyDoc_STRVAR(update_doc,
             "update(weights, first, second, last_step, rows, values, step, rate, decay_1, decay_2, "
             "eps): take a step of Adam on distinct rows with gradients values, (rows, dim).");

static PyObject *update(PyObject *Py_UNUSED(module), PyObject *given) {
    PyObject *tables[TABLES], *last_object, *rows_object, *values_object;
    long long step;
    double rate, decay_1, decay_2, eps;
    if (!PyArg_ParseTuple(given, "OOOOOOLdddd", &tables[0], &tables[1], &tables[2], &last_object,
                          &rows_object, &values_object, &step, &rate, &decay_1, &decay_2, &eps))
        return NULL;
    Arguments a = {.held = 0};
    size_t rows_count, last_count, values_count;
    int64_t *last, *rows;
    float *values;
    int failed = get_tables(&a, tables) ||
                 !(last = get_array(&a, last_object, "lq", 8, 1, &last_count)) ||
                 !(rows = get_array(&a, rows_object, "lq", 8, 0, &rows_count)) ||
                 !(values = get_array(&a, values_object, "f", 4, 0, &values_count)) ||
                 !rows_fit(rows, rows_count, a.rows);
    if (failed) return finish(&a, 1);
    if (last_count != a.rows || values_count != rows_count * a.dimension) {
        PyErr_SetString(PyExc_ValueError, "rows, values and last_step do not fit together");
        return finish(&a, 1);
    }
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < rows_count; i++) {
        size_t from = (size_t)rows[i] * a.dimension;
        update_row(a.tables[0] + from, a.tables[1] + from, a.tables[2] + from,
                   values + i * a.dimension, a.dimension, (float)rate, (float)decay_1,
                   (float)decay_2, (float)eps);
        last[rows[i]] = step;
    }
    Py_END_ALLOW_THREADS
    return finish(&a, 0);
}

static PyMethodDef methods[] = {
    {"catch_up", catch_up, METH_VARARGS, catch_up_doc},
    {"update", update, METH_VARARGS, update_doc},
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
    .m_name = "_rows",
    .m_doc = "Adam on the rows of a table; see training/engine/row_adam.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&module); }
