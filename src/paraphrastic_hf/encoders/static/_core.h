/* Encodes texts, independent of Python. `_words.c` is its Python interface.

   Words map words to token ids. A Reader looks up the words of texts and averages the rows of their
   ids. It collects unknown words, and segments ASCII ones with a Unigram model. Readers may run in
   parallel while nothing changes their Words.

   Words are separated by ASCII white space and control characters, DEL included, which
   `text/normalize.py` also treats as spaces. If `lowercase` is set, ASCII words are lower-cased
   here. Other words are for a tokenizer: `asked` lists them, `answer` takes their ids. */

#ifndef PARAPHRASTIC_CORE_H
#define PARAPHRASTIC_CORE_H

#include "_map.h"
#include "_narrow.h"
#include "_rows.h"
#include "_unigram.h"
#include "_window.h"

#define TEXTS_AHEAD 4
#define WORDS_AT_A_TIME 512 /* look-ups that wait for memory together */

enum { DONE, NO_MEMORY, NO_ROW, TOO_LARGE, NO_TEXT };

typedef struct {
    Map map;
    Unigram model; /* segments ASCII words; without cells, they are for the tokenizer too */
    int lowercase;
} Words;

static void words_free(Words *words) {
    map_free(&words->map);
    unigram_free(&words->model);
}

/* Add a word with its ids, if it is missing. */
static int words_add(Words *words, const char *word, size_t length, const int32_t *ids,
                     size_t count) {
    uint32_t hash = hash_word(word, length);
    if (map_find(&words->map, word, length, hash)) return DONE;
    Key *key = map_add(&words->map, word, length, hash);
    return !key || map_answer(&words->map, key, ids, count) ? NO_MEMORY : DONE;
}

/* Means of texts: where they are written, and how they are computed. */
typedef struct {
    Averager averager;
    void *means;           /* (texts, dimension) */
    char format;           /* of the means: f: float32. e: float16. b: int8. */
    float *mean;           /* scratch: a mean, or means, features and hidden units of the texts
                              that wait, (TEXTS_TOGETHER, dimension + features + hidden) */
    int32_t *token_counts; /* (texts,), NULL if not requested */
    Window window;         /* if rows is NULL, only table rows are averaged */
    int16_t *sum;          /* scratch: (features,) */
    int64_t *total;        /* scratch: (features,) */
    size_t waiting;        /* texts in `mean` */
    size_t numbers[TEXTS_TOGETHER], counts[TEXTS_TOGETHER]; /* their output rows and tokens */
} Output;

/* Write one mean to row `number` of the output; TOO_LARGE if a number does not fit. */
static int store_mean(const Output *output, const float *mean, size_t number) {
    size_t dimension = output->averager.dimension, start = number * dimension;
    int is_too_large = 0;
    switch (output->format) {
        case 'f': memcpy((float *)output->means + start, mean, dimension * sizeof *mean); break;
        case 'e': is_too_large = write_halves(mean, dimension, (uint16_t *)output->means + start); break;
        default: is_too_large = write_bytes(mean, dimension, (int8_t *)output->means + start);
    }
    return is_too_large ? TOO_LARGE : DONE;
}

static size_t scratch_width(const Output *output) {
    return output->averager.dimension + output->window.features + output->window.hidden;
}

/* Apply the layers to the texts that wait, and write their vectors. */
static int write_waiting(Output *output) {
    const Averager *the = &output->averager;
    const Window *window = &output->window;
    size_t dimension = the->dimension, width = scratch_width(output), hidden = window->hidden;
    size_t inputs = dimension + window->features, texts = (output->waiting + 3) / 4 * 4;
    float *features = output->mean + dimension, *units = output->mean + inputs;
    int failed = DONE;
    if (!texts) return DONE;
    for (size_t text = 0; text < texts; text++)
        memcpy(units + text * width, window->hidden_bias, hidden * sizeof(float));
    add_products(window->inner, inputs, hidden, output->mean, units, width, texts);
    for (size_t text = 0; text < texts; text++)
        for (size_t h = 0; h < hidden; h++)
            if (!(units[text * width + h] > 0)) units[text * width + h] = 0;
    add_products(window->outer, window->features + hidden, dimension, features, output->mean, width,
                 texts);
    for (size_t text = 0; text < output->waiting && !failed; text++) {
        float *mean = output->mean + text * width;
        if (!output->counts[text]) memset(mean, 0, dimension * sizeof *mean);
        if (the->normalize) to_unit_length(mean, dimension);
        failed = store_mean(output, mean, output->numbers[text]);
    }
    output->waiting = 0;
    return failed;
}

/* Write the mean of the rows of ids, as `average` does, to row `number` of the output. A text with
   features may wait for `write_waiting`. */
static int write_mean(Output *output, const int32_t *ids, size_t count, size_t held,
                      size_t number) {
    const Averager *the = &output->averager;
    size_t dimension = the->dimension;
    if (!output->window.rows) {
        if (output->format == 'f') {
            average(the, ids, count, held, the->normalize, (float *)output->means + number * dimension);
            return DONE;
        }
        average(the, ids, count, held, the->normalize, output->mean);
        return store_mean(output, output->mean, number);
    }
    size_t text = output->waiting++;
    float *mean = output->mean + text * scratch_width(output);
    output->numbers[text] = number;
    output->counts[text] = count;
    average(the, ids, count, held, 0, mean);
    window_features(&output->window, ids, count, held, output->sum, output->total,
                    mean + dimension);
    return output->waiting == TEXTS_TOGETHER ? write_waiting(output) : DONE;
}

typedef struct {
    uint32_t hash, length;
    size_t start; /* offset in the group's bytes */
} Word;

/* Collects the words of groups of texts, which are looked up together. */
typedef struct {
    const Words *table;
    Map words; /* words outside the table; UNANSWERED ones are for the tokenizer */
    Pieces pieces;
    const char **bytes; /* texts to read, UTF-8 */
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
} Reader;

static void reader_free(Reader *self) {
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
}

/* Add the words of a text to the group. */
static int split(Reader *self, const char *text, size_t length) {
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
static const Key *look_up(Reader *self, const Word *word, const Map **map) {
    const char *bytes = self->group + word->start;
    *map = &self->table->map;
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

static int wait_for(Reader *self, size_t text) {
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
static int mean_group(Reader *self, const Range *range, size_t begin, Output *output) {
    const Map *table = &self->table->map;
    const Averager *the = &output->averager;
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
        if (write_mean(output, self->ids + from, end - from, held - from, number))
            return TOO_LARGE;
        if (output->token_counts) output->token_counts[number] = (int32_t)(end - from);
        from = end;
    }
    return write_waiting(output);
}

/* Write the means of the texts in `bytes`. Texts with words in `asked` wait. */
static int mean_texts(Reader *self, const Range *range, Output *output) {
    const Map *table = &self->table->map;
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
        failed = mean_group(self, range, begin, output);
    }
    return failed;
}

/* Take the ids of the words in `asked`, `counts` of each. */
static int answer(Reader *self, const int32_t *counts, const int32_t *ids) {
    for (size_t i = 0; i < self->asked_count; i++) {
        size_t count = (size_t)counts[i];
        if (map_answer(&self->words, &self->words.keys[self->asked[i]], ids, count))
            return NO_MEMORY;
        ids += count;
    }
    return DONE;
}

static size_t characters(const char *word, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += !IS_LATER(word[i]);
    return count;
}

/* Move words of at most `longest` characters to `known` while it has fewer than `most`. */
static int learn(Reader *self, Map *known, size_t longest, size_t most) {
    Map *words = &self->words;
    for (size_t i = 0; i < words->count && known->count < most; i++) {
        if (known->slots && i + 16 < words->count)
            PREFETCH(&known->slots[words->keys[i + 16].hash & known->mask]);
        const Key *key = &words->keys[i];
        const char *word = key_word(words, key);
        if (key->count == UNANSWERED || map_find(known, word, key->length, key->hash)) continue;
        if (key->length > longest && characters(word, key->length) > longest) continue;
        Key *learned = map_add(known, word, key->length, key->hash);
        if (!learned || map_answer(known, learned, key_ids(words, key), (size_t)key->count))
            return NO_MEMORY;
    }
    map_clear(words);
    self->asked_count = self->waiting_count = 0;
    return DONE;
}

#endif
