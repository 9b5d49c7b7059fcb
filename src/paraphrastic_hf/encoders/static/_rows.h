/* Means of table rows. */

#ifndef PARAPHRASTIC_ROWS_H
#define PARAPHRASTIC_ROWS_H

#include <math.h>

#include "_map.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORIZED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORIZED
#endif

#define IDS_AT_A_TIME 32 /* longer float sums would lose more than 1e-6 to rounding */
#define ROWS_AHEAD 8
#define LANES 16

typedef struct {
    const void *table;
    char format; /* f: float32. H: bfloat16. b: int8, multiples of the float32 scale at the end of
                    the row. B: int4, two multiples of the scale plus 8 per byte, the first half of
                    the row in the lower bits. */
    size_t rows, dimension;
    float *sum;    /* sum of up to IDS_AT_A_TIME rows, with room for one more number */
    double *total; /* sum for longer texts */
    int normalize;
} Averager;

static inline float widened(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

#define SCALE_BYTES sizeof(float) /* at the end of an int8 or int4 row */

static inline float scale_of(const void *row, size_t bytes) {
    float scale;
    memcpy(&scale, (const char *)row + bytes, sizeof scale);
    return scale;
}

#define LINE 64 /* bytes of a cache line */

#define NO_SCALE(row) 1.0f
#define ROW_SCALE(row) scale_of(row, columns)
#define WHOLE(number, factor) (number)
#define WIDENED(half, factor) widened(half)
#define SCALED(byte, factor) ((factor) * (float)(byte))
#define LOWER(byte, factor) ((factor) * (float)((byte & 15) - 8))
#define UPPER(byte, factor) ((factor) * (float)((byte >> 4) - 8))

#define FOUR(value) ((value(a[d], at_a) + value(b[d], at_b)) + (value(c[d], at_c) + value(e[d], at_e)))
#define ONE_EACH(value, of_rows) sum[d] += of_rows(value)
#define TWO_EACH(value, of_rows) sum[d] += of_rows(LOWER), upper[d] += of_rows(UPPER)
#define LAST(value) value(row[j][d], at)

/* Add the rows of ids to `sum`. A row has `columns` items of one number or two, the second for
   `upper`, and is `stride` items long. Rows of later ids, of which `held` are readable, are
   prefetched. */
#define DEFINE_ADD_ROWS(name, type, each, value, factor, stride)                                  \
    VECTORIZED                                                                                    \
    static void name(const type *table, size_t columns, const int32_t *ids, size_t count,         \
                     size_t held, float *restrict sum, float *restrict upper) {                   \
        (void)upper;                                                                              \
        for (size_t i = 0; i < count; i += 4) {                                                   \
            const type *row[4];                                                                   \
            for (size_t j = 0; j < 4; j++) {                                                      \
                row[j] = i + j < count ? table + (size_t)ids[i + j] * (stride) : NULL;            \
                if (!row[j] || i + j + ROWS_AHEAD >= held) continue;                              \
                size_t ahead = (size_t)ids[i + j + ROWS_AHEAD] * (stride);                        \
                const char *next = (const char *)(table + ahead);                                 \
                for (size_t at = 0; at < (stride) * sizeof(type); at += LINE) PREFETCH(next + at); \
            }                                                                                     \
            const type *a = row[0], *b = row[1], *c = row[2], *e = row[3];                        \
            if (e) {                                                                              \
                const float at_a = factor(a), at_b = factor(b);                                   \
                const float at_c = factor(c), at_e = factor(e);                                   \
                (void)at_a, (void)at_b, (void)at_c, (void)at_e;                                   \
                for (size_t d = 0; d < columns; d++) each(value, FOUR);                           \
                continue;                                                                         \
            }                                                                                     \
            for (size_t j = 0; j < 3 && row[j]; j++) {                                            \
                const float at = factor(row[j]);                                                  \
                (void)at;                                                                         \
                for (size_t d = 0; d < columns; d++) each(value, LAST);                           \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_ADD_ROWS(add_floats, float, ONE_EACH, WHOLE, NO_SCALE, columns)
DEFINE_ADD_ROWS(add_halves, uint16_t, ONE_EACH, WIDENED, NO_SCALE, columns)
DEFINE_ADD_ROWS(add_bytes, int8_t, ONE_EACH, SCALED, ROW_SCALE, columns + SCALE_BYTES)
DEFINE_ADD_ROWS(add_nibbles, uint8_t, TWO_EACH, , ROW_SCALE, columns + SCALE_BYTES)

static void add_rows(const Averager *the, const int32_t *ids, size_t count, size_t held) {
    size_t dimension = the->dimension, half = (dimension + 1) / 2;
    float *sum = the->sum;
    memset(sum, 0, 2 * half * sizeof(float));
    switch (the->format) {
        case 'f': add_floats(the->table, dimension, ids, count, held, sum, NULL); break;
        case 'H': add_halves(the->table, dimension, ids, count, held, sum, NULL); break;
        case 'b': add_bytes(the->table, dimension, ids, count, held, sum, NULL); break;
        default: add_nibbles(the->table, half, ids, count, held, sum, sum + half);
    }
}

VECTORIZED
static void scale(const float *vector, size_t dimension, float factor, float *scaled) {
    for (size_t d = 0; d < dimension; d++) scaled[d] = vector[d] * factor;
}

VECTORIZED
static double square(const float *vector, size_t dimension) {
    double lanes[LANES] = {0}, total = 0; /* parallel sums; a single one would wait for itself */
    size_t d = 0;
    for (; d + LANES <= dimension; d += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)vector[d + lane] * vector[d + lane];
    for (; d < dimension; d++) total += (double)vector[d] * vector[d];
    for (size_t lane = 0; lane < LANES; lane++) total += lanes[lane];
    return total;
}

/* Scale a vector to unit length, unless it is zero. */
static void to_unit_length(float *vector, size_t dimension) {
    double norm = sqrt(square(vector, dimension));
    for (size_t d = 0; norm > 0 && d < dimension; d++) vector[d] = (float)(vector[d] / norm);
}

/* Write the mean of the rows of `count` ids. `held` ids, those of later texts included, are
   readable. */
static void average(const Averager *the, const int32_t *ids, size_t count, size_t held,
                    int normalize, float *mean) {
    size_t dimension = the->dimension;
    if (!count) {
        memset(mean, 0, dimension * sizeof(float));
        return;
    }
    float factor = 1.0f / (float)count;
    size_t most = count < IDS_AT_A_TIME ? count : IDS_AT_A_TIME;
    add_rows(the, ids, most, held);
    if (count > IDS_AT_A_TIME) {
        for (size_t d = 0; d < dimension; d++) the->total[d] = the->sum[d];
        for (size_t i = most; i < count; i += most) {
            size_t left = count - i < most ? count - i : most;
            add_rows(the, ids + i, left, held - i);
            for (size_t d = 0; d < dimension; d++) the->total[d] += the->sum[d];
        }
        for (size_t d = 0; d < dimension; d++)
            the->sum[d] = (float)(the->total[d] / (double)count);
        factor = 1;
    }
    double norm = normalize ? sqrt(square(the->sum, dimension)) : 0;
    if (norm > 1e-30 && norm < 1e30) {
        scale(the->sum, dimension, (float)(1.0 / norm), mean);
    } else if (norm > 0) {
        for (size_t d = 0; d < dimension; d++) mean[d] = (float)(the->sum[d] / norm);
    } else {
        scale(the->sum, dimension, factor, mean);
    }
}

#endif
