/* Features of token windows, which a matrix adds to means of table rows. */

#ifndef PARAPHRASTIC_WINDOW_H
#define PARAPHRASTIC_WINDOW_H

#include "_rows.h"

#define TEXTS_TOGETHER 4 /* texts multiplied by the matrix at a time */
#define COLUMNS 32       /* of the matrix, for which sums stay in registers */

typedef struct {
    const int8_t *rows;  /* (count, span, features): what a token adds at each place of a window */
    const int16_t *bias; /* (features,) */
    const float *output; /* (features, dimension) */
    size_t count, span, features; /* ids from count - 1 on share the last row; span is odd */
} Window;

VECTORIZED
static void add_bytes_to(int16_t *restrict sum, const int8_t *restrict row, size_t count) {
    for (size_t f = 0; f < count; f++) sum[f] = (int16_t)(sum[f] + row[f]);
}

VECTORIZED
static void add_positive(int32_t *restrict total, const int16_t *restrict sum, size_t count) {
    for (size_t f = 0; f < count; f++) total[f] += sum[f] > 0 ? sum[f] : 0;
}

/* total += max(0, bias + a + b + c) */
VECTORIZED
static void add_three(int32_t *restrict total, const int16_t *restrict bias,
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
                            int16_t *sum, int32_t *total, float *mean) {
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

/* Add the product of features, (TEXTS_TOGETHER, features), with the matrix to the means. */
VECTORIZED
static void add_product(const Window *the, const float *features, size_t dimension,
                        float *restrict means) {
    size_t count = the->features;
    for (size_t from = 0; from < dimension; from += COLUMNS) {
        size_t columns = dimension - from < COLUMNS ? dimension - from : COLUMNS;
        float sums[TEXTS_TOGETHER][COLUMNS] = {{0}};
        if (columns == COLUMNS) {
            for (size_t f = 0; f < count; f++) {
                const float *row = the->output + f * dimension + from;
                for (size_t text = 0; text < TEXTS_TOGETHER; text++) {
                    float factor = features[text * count + f];
                    for (size_t d = 0; d < COLUMNS; d++) sums[text][d] += factor * row[d];
                }
            }
        } else {
            for (size_t f = 0; f < count; f++)
                for (size_t text = 0; text < TEXTS_TOGETHER; text++)
                    for (size_t d = 0; d < columns; d++)
                        sums[text][d] += features[text * count + f] *
                                         the->output[f * dimension + from + d];
        }
        for (size_t text = 0; text < TEXTS_TOGETHER; text++)
            for (size_t d = 0; d < columns; d++)
                means[text * dimension + from + d] += sums[text][d];
    }
}

#endif
