/* Texts in Arrow's layout: the UTF-8 bytes of all texts, and offsets into them. Included by
   _words.c after Block. */

#ifndef PARAPHRASTIC_ARROW_H
#define PARAPHRASTIC_ARROW_H

typedef struct {
    Py_buffer offsets, bytes;
    size_t count;
} ArrowTexts;

static void release_arrow(ArrowTexts *texts) {
    PyBuffer_Release(&texts->offsets);
    PyBuffer_Release(&texts->bytes);
}

static int get_arrow(PyObject *offsets, PyObject *bytes, ArrowTexts *texts) {
    if (get_items(offsets, &texts->offsets, 'q', 0, "offsets")) return -1;
    if (PyObject_GetBuffer(bytes, &texts->bytes, PyBUF_SIMPLE)) {
        PyBuffer_Release(&texts->offsets);
        return -1;
    }
    size_t items = (size_t)texts->offsets.len / 8;
    texts->count = items - 1;
    if (items) return 0;
    PyErr_SetString(PyExc_ValueError, "offsets must have one number more than there are texts");
    release_arrow(texts);
    return -1;
}

/* Find the bytes of the texts in a range. */
static int find_texts(Reader *self, const ArrowTexts *texts, const Range *range) {
    if (reserve((void **)&self->bytes, &self->bytes_capacity, range->count, sizeof(char *)) ||
        reserve((void **)&self->sizes, &self->sizes_capacity, range->count, sizeof(size_t)))
        return NO_MEMORY;
    const int64_t *offsets = texts->offsets.buf;
    for (size_t i = 0; i < range->count; i++) {
        size_t number = number_of(range, i);
        if (number >= texts->count) return NO_TEXT;
        int64_t start = offsets[number], end = offsets[number + 1];
        if (start < 0 || end < start || end > (int64_t)texts->bytes.len) return NO_TEXT;
        self->bytes[i] = (const char *)texts->bytes.buf + start;
        self->sizes[i] = (size_t)(end - start);
    }
    return DONE;
}

/* Write the means of texts to their rows. */
static int mean_arrow(Reader *self, const ArrowTexts *texts, const Range *range, Rows *rows) {
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = find_texts(self, texts, range);
    if (!failed) failed = mean_texts(self, range, &rows->output);
    Py_END_ALLOW_THREADS
    return raise_for(failed);
}

PyDoc_STRVAR(mean_arrow_doc,
             "mean_arrow(offsets, bytes, start, stop, table, out, normalize): as `mean`, for texts "
             "whose UTF-8 is bytes[offsets[i]:offsets[i + 1]]. offsets are int64. Invalid bytes "
             "are read as U+FFFD.");

static PyObject *block_mean_arrow(PyObject *object, PyObject *arguments) {
    PyObject *offsets, *bytes, *table, *out;
    Py_ssize_t start, stop;
    int normalize, failed;
    if (!PyArg_ParseTuple(arguments, "OOnnOOp", &offsets, &bytes, &start, &stop, &table, &out,
                          &normalize))
        return NULL;
    ArrowTexts texts;
    Rows rows;
    if (get_arrow(offsets, bytes, &texts)) return NULL;
    failed = get_rows(table, out, NULL, (Py_ssize_t)texts.count, normalize, &rows);
    if (!failed) {
        Range range = {(size_t)start, (size_t)(stop - start), NULL};
        failed = start < 0 || stop < start ? raise_for(NO_TEXT)
                                           : mean_arrow(&((Block *)object)->reader, &texts, &range, &rows);
        release_rows(&rows);
    }
    release_arrow(&texts);
    return failed ? NULL : none();
}

PyDoc_STRVAR(answer_arrow_doc,
             "answer_arrow(offsets, bytes, counts, ids, table, out, normalize): as `answer`, for "
             "the texts of `mean_arrow`.");

static PyObject *block_answer_arrow(PyObject *object, PyObject *arguments) {
    Reader *self = &((Block *)object)->reader;
    PyObject *offsets, *bytes, *counts, *ids, *table, *out;
    int normalize, failed;
    if (!PyArg_ParseTuple(arguments, "OOOOOOp", &offsets, &bytes, &counts, &ids, &table, &out,
                          &normalize))
        return NULL;
    ArrowTexts texts;
    Rows rows;
    if (get_arrow(offsets, bytes, &texts)) return NULL;
    failed = get_rows(table, out, NULL, (Py_ssize_t)texts.count, normalize, &rows);
    if (!failed) {
        failed = take_answers(self, counts, ids);
        if (!failed) {
            Range range = {0, self->waiting_count, self->waiting};
            failed = mean_arrow(self, &texts, &range, &rows);
            self->asked_count = self->waiting_count = 0;
        }
        release_rows(&rows);
    }
    release_arrow(&texts);
    return failed ? NULL : none();
}

#endif
