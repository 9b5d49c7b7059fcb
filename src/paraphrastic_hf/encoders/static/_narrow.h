/* Outputs of means: float32, float16, or int8 multiples of a scale. */

#ifndef PARAPHRASTIC_NARROW_H
#define PARAPHRASTIC_NARROW_H

#include "_rows.h"

#define INFINITE 0x7F800000u /* bits of an infinite float */
#define INFINITE_HALF 0x7C00u
#define MOST_STEPS 127.0f /* int8: largest multiple of the scale */

static inline uint32_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Round to the nearest float16, ties to even. */
static inline uint32_t half_of(float number) {
    uint32_t bits = bits_of(number), sign = bits & 0x80000000u;
    bits ^= sign;
    /* adding 0.5 aligns a subnormal half with the lowest bits of the sum */
    uint32_t tiny = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
    uint32_t normal = (bits - (112u << 23) + 0xFFF + ((bits >> 13) & 1)) >> 13;
    uint32_t is_tiny = 0u - (bits < 113u << 23), fits = 0u - (bits < 143u << 23); /* masks */
    uint32_t half = (((tiny & is_tiny) | (normal & ~is_tiny)) & fits) | (INFINITE_HALF & ~fits);
    return half | sign >> 16;
}

/* Write a vector as float16; return whether a number is too large. */
VECTORIZED
static int write_halves(const float *vector, size_t dimension, uint16_t *halves) {
    uint32_t odd = 0;
    for (size_t d = 0; d < dimension; d++) {
        uint32_t half = half_of(vector[d]);
        odd |= ((half & INFINITE_HALF) + 0x400u) >> 15; /* the exponent is all ones */
        halves[d] = (uint16_t)half;
    }
    return (int)odd;
}

/* Write a vector as int8 multiples of 1/127 of its largest absolute value, as `packing.packed`
   does; return whether a number is not finite. */
VECTORIZED
static int write_bytes(const float *vector, size_t dimension, int8_t *bytes) {
    uint32_t largest = 0; /* bits of positive floats are in order */
    for (size_t d = 0; d < dimension; d++) {
        uint32_t bits = bits_of(vector[d]) & 0x7FFFFFFFu;
        largest = bits > largest ? bits : largest;
    }
    if (largest >= INFINITE) return 1;
    float step = float_of(largest) / MOST_STEPS;
    step = step > 0 ? step : 1;
    for (size_t d = 0; d < dimension; d++) {
        float steps = rintf(vector[d] / step);
        steps = steps < -MOST_STEPS ? -MOST_STEPS : steps > MOST_STEPS ? MOST_STEPS : steps;
        bytes[d] = (int8_t)steps;
    }
    return 0;
}

typedef struct {
    void *rows;
    char format; /* f: float32. e: float16. b: int8. */
    float *mean; /* scratch, as wide as a row */
} Output;

enum { DONE, TOO_LARGE, NO_MEMORY, NO_ROW, NO_TEXT };

/* Write the mean of the rows of ids, as `average` does, to row `number` of the output; TOO_LARGE
   if a number does not fit. */
static int write_mean(const Averager *the, const int32_t *ids, size_t count, size_t held,
                      const Output *output, size_t number) {
    size_t dimension = the->dimension, start = number * dimension;
    if (output->format == 'f') {
        average(the, ids, count, held, (float *)output->rows + start);
        return DONE;
    }
    average(the, ids, count, held, output->mean);
    int is_too_large =
        output->format == 'e'
            ? write_halves(output->mean, dimension, (uint16_t *)output->rows + start)
            : write_bytes(output->mean, dimension, (int8_t *)output->rows + start);
    return is_too_large ? TOO_LARGE : DONE;
}

#endif
