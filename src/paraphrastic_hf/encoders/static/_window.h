/* Features of token windows, and the layers over them and the means of table rows. */

#ifndef PARAPHRASTIC_WINDOW_H
#define PARAPHRASTIC_WINDOW_H

#include "_rows.h"

#define TEXTS_TOGETHER 16 /* texts multiplied by a matrix at a time: a multiple of 4 */

typedef struct {
    const int8_t *rows;  /* (count, span, features): summand of a token at each place of a window */
    const int16_t *bias; /* (features,) */
    const float *inner;  /* (dimension + features, hidden): from mean and features to hidden */
    const float *hidden_bias; /* (hidden,) */
    const float *outer;  /* (features + hidden, dimension) */
    size_t count, span, features, hidden; /* ids from count - 1 on share the last row */
} Window;

VECTORIZED
static void add_bytes_to(int16_t *restrict sum, const int8_t *restrict row, size_t count) {
    for (size_t f = 0; f < count; f++) sum[f] = (int16_t)(sum[f] + row[f]);
}

VECTORIZED
static void add_positive(int64_t *restrict total, const int16_t *restrict sum, size_t count) {
    for (size_t f = 0; f < count; f++) total[f] += sum[f] > 0 ? sum[f] : 0;
}

/* total += max(0, bias + a + b + c) */
VECTORIZED
static void add_three(int64_t *restrict total, const int16_t *restrict bias,
                      const int8_t *restrict a, const int8_t *restrict b,
                      const int8_t *restrict c, size_t count) {
    for (size_t f = 0; f < count; f++) {
        int16_t sum = (int16_t)(bias[f] + a[f] + b[f] + c[f]);
        total[f] += sum > 0 ? sum : 0;
    }
}

static inline const int8_t *window_row(const Window *the, const int32_t *ids, size_t count,
                                       size_t at, size_t place) {
    size_t half = the->span / 2, number = at + place - half; /* wraps around before the text */
    size_t id = number < count ? (size_t)ids[number] : 0;
    if (id >= the->count) id = the->count - 1;
    return the->rows + (id * the->span + place) * the->features;
}

/* Write the mean features of a text's windows. `sum` and `total` are scratch. */
static void window_features(const Window *the, const int32_t *ids, size_t count, size_t held,
                            int16_t *sum, int64_t *total, float *mean) {
    size_t features = the->features, bytes = the->span * features;
    memset(total, 0, features * sizeof *total);
    for (size_t i = 0; i < count; i++) {
        if (i + ROWS_AHEAD < held) {
            size_t ahead = (size_t)ids[i + ROWS_AHEAD];
            if (ahead >= the->count) ahead = the->count - 1;
            for (size_t at = 0; at < bytes; at += LINE) PREFETCH(the->rows + ahead * bytes + at);
        }
        if (the->span == 3) {
            add_three(total, the->bias, window_row(the, ids, count, i, 0),
                      window_row(the, ids, count, i, 1), window_row(the, ids, count, i, 2),
                      features);
            continue;
        }
        memcpy(sum, the->bias, features * sizeof *sum);
        for (size_t place = 0; place < the->span; place++)
            add_bytes_to(sum, window_row(the, ids, count, i, place), features);
        add_positive(total, sum, features);
    }
    for (size_t f = 0; f < features; f++)
        mean[f] = count ? (float)((double)total[f] / (double)count) : 0;
}

/* Add the products of vectors, (texts, rows), with a matrix, (rows, columns), to `sums`, (texts,
   columns). `texts` is a multiple of 4. Vectors and sums of one text are `stride` numbers from those
   of the next. */
VECTORIZED
static void add_products(const float *restrict matrix, size_t rows, size_t columns,
                         const float *restrict vectors, float *restrict sums, size_t stride,
                         size_t texts) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const float *a = matrix + r * columns, *b = a + columns, *c = b + columns, *e = c + columns;
        for (size_t text = 0; text < texts; text += 4) {
            const float *v = vectors + text * stride + r;
            const float *w = v + stride, *x = w + stride, *y = x + stride;
            float *restrict to_v = sums + text * stride, *restrict to_w = to_v + stride;
            float *restrict to_x = to_w + stride, *restrict to_y = to_x + stride;
            for (size_t d = 0; d < columns; d++) {
                to_v[d] = to_v[d] + v[0] * a[d] + v[1] * b[d] + v[2] * c[d] + v[3] * e[d];
                to_w[d] = to_w[d] + w[0] * a[d] + w[1] * b[d] + w[2] * c[d] + w[3] * e[d];
                to_x[d] = to_x[d] + x[0] * a[d] + x[1] * b[d] + x[2] * c[d] + x[3] * e[d];
                to_y[d] = to_y[d] + y[0] * a[d] + y[1] * b[d] + y[2] * c[d] + y[3] * e[d];
            }
        }
    }
    for (; r < rows; r++)
        for (size_t text = 0; text < texts; text++)
            for (size_t d = 0; d < columns; d++)
                sums[text * stride + d] += vectors[text * stride + r] * matrix[r * columns + d];
}

#endif
