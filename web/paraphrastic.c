/* The WebAssembly interface of the engine, for `paraphrastic.js`: one model per instance.

   `model` reads a sentencepiece model and `table` sets the token vectors. `encode` averages a batch
   of texts. Words that are not ASCII wait: `asked` lists them, `answer` takes them normalized. */

#include "_core.h"

#define EXPORT(name) __attribute__((export_name(#name))) js_##name
#define MOST_WORDS 1000000
#define LONGEST_WORD 48
#define MANY_WORDS 8192 /* new words that are not yet in the table */

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3 }; /* sentencepiece's types of pieces */
enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 }; /* protobuf's wire types */

static Words words;
static Reader reader = {.table = &words};
static Output output;
static Piece *names; /* every piece, for `piece` */
static char *text; /* list of words for JavaScript, one per line */
static size_t text_size, text_capacity;
static Pieces cut;

void *EXPORT(allocate)(size_t size) { return malloc(size ? size : 1); }

void EXPORT(release)(void *memory) { free(memory); }

/* ---- the tokenizer ---- */

typedef struct {
    const char *at, *end;
} Message;

static int read_varint(Message *from, uint64_t *number) {
    *number = 0;
    for (int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        uint64_t byte = (unsigned char)*from->at++;
        *number |= (byte & 127) << shift;
        if (byte < 128) return 1;
    }
    return 0;
}

/* Read the next field of a message into `number` or `value`; 0 at the end, -1 if damaged. */
static int read_field(Message *from, uint64_t *field, uint64_t *number, Message *value) {
    if (from->at == from->end) return 0;
    uint64_t length = 0;
    if (!read_varint(from, field)) return -1;
    int type = *field & 7;
    *field >>= 3;
    if (type == VARINT) return read_varint(from, number) ? 1 : -1;
    if (type == BYTES && !read_varint(from, &length)) return -1;
    if (type == EIGHT_BYTES || type == FOUR_BYTES) length = type == FOUR_BYTES ? 4 : 8;
    else if (type != BYTES) return -1;
    if (length > (uint64_t)(from->end - from->at)) return -1;
    *value = (Message){from->at, from->at + length};
    from->at += length;
    return 1;
}

static int read_piece(Message from, Piece *piece, uint64_t *type) {
    uint64_t field, number;
    Message value;
    int more;
    *piece = (Piece){0};
    *type = NORMAL;
    while ((more = read_field(&from, &field, &number, &value)) > 0) {
        if (field == 1) *piece = (Piece){value.at, (size_t)(value.end - value.at), piece->score};
        if (field == 2) {
            if (value.end - value.at != sizeof(float)) return -1;
            memcpy(&piece->score, value.at, sizeof(float));
        }
        if (field == 3) *type = number;
    }
    return more;
}

/* Read a sentencepiece model, whose bytes stay in use. Return the number of pieces, 0 if the model
   is damaged or memory is short. */
size_t EXPORT(model)(const char *bytes, size_t size, int lowercase, int keep_unknown) {
    Message from = {bytes, bytes + size}, value = {bytes, bytes};
    Piece *pieces = NULL;
    uint64_t field, number, type;
    size_t count = 0, capacity = 0, names_capacity = 0;
    int more = 0, failed = 0;
    while (!failed && (more = read_field(&from, &field, &number, &value)) > 0) {
        if (field != 1) continue;
        failed = reserve((void **)&names, &names_capacity, count + 1, sizeof *names) ||
                 reserve((void **)&pieces, &capacity, count + 1, sizeof *pieces) ||
                 read_piece(value, &names[count], &type);
        if (failed) break;
        pieces[count] = names[count];
        if (type == UNKNOWN || type == CONTROL) pieces[count].length = 0;
        count++;
    }
    words.lowercase = lowercase;
    failed = failed || more || unigram_build(&words.model, pieces, count, keep_unknown, 0);
    free(pieces);
    return failed ? 0 : count;
}

const char *EXPORT(piece)(size_t number) { return names[number].bytes; }

size_t EXPORT(piece_size)(size_t number) { return names[number].length; }

/* ---- texts ---- */

/* Set the token vectors; `format` is one of the Averager's. */
int EXPORT(table)(const void *numbers, int format, size_t rows, size_t dimension) {
    Averager *the = &output.averager;
    *the = (Averager){.table = numbers, .format = (char)format, .rows = rows};
    the->dimension = dimension;
    output.format = 'f';
    the->sum = malloc((dimension + 1) * sizeof(float));
    the->total = malloc(dimension * sizeof(double));
    return the->sum && the->total ? DONE : NO_MEMORY;
}

/* List the words that wait; -1 if out of memory. */
static int list_asked(void) {
    text_size = 0;
    for (size_t i = 0; i < reader.asked_count; i++) {
        const Key *key = &reader.words.keys[reader.asked[i]];
        if (reserve((void **)&text, &text_capacity, text_size + key->length + 1, 1)) return -1;
        memcpy(text + text_size, key_word(&reader.words, key), key->length);
        text_size += key->length;
        text[text_size++] = '\n';
    }
    return 0;
}

static int finish(void) {
    if (reader.words.count <= MANY_WORDS) return DONE;
    return learn(&reader, &words.map, LONGEST_WORD, MOST_WORDS);
}

/* Average texts, UTF-8 one after the other, into `means` (texts, dimension) and count their tokens.
   If `asked_size` is not 0 afterwards, `answer` completes the means. */
int EXPORT(encode)(const char *bytes, const uint32_t *sizes, size_t count, int normalize,
                   float *means, int32_t *token_counts) {
    output.averager.normalize = normalize;
    output.means = means;
    output.token_counts = token_counts;
    if (reserve((void **)&reader.bytes, &reader.bytes_capacity, count, sizeof(char *)) ||
        reserve((void **)&reader.sizes, &reader.sizes_capacity, count, sizeof(size_t)))
        return NO_MEMORY;
    for (size_t i = 0; i < count; bytes += sizes[i++]) {
        reader.bytes[i] = bytes;
        reader.sizes[i] = sizes[i];
    }
    int failed = mean_texts(&reader, &(Range){0, count, NULL}, &output);
    if (failed) return failed;
    return list_asked() ? NO_MEMORY : reader.asked_count ? DONE : finish();
}

const char *EXPORT(asked)(void) { return text; }

size_t EXPORT(asked_size)(void) { return text_size; }

/* Take the normalized words, one line each; a line may have several words or none. */
int EXPORT(answer)(char *lines, size_t size) {
    char *at = lines, *end = lines + size;
    for (size_t i = 0; i < reader.asked_count; i++, at++) {
        int32_t *ids = NULL;
        size_t count = 0, capacity = 0;
        while (at < end && *at != '\n') {
            char *start = at;
            while (at < end && *at != ' ' && *at != '\n') at++;
            if (at > start) {
                if (cut_word(&words.model, &cut, start, (size_t)(at - start)) ||
                    reserve((void **)&ids, &capacity, count + cut.count, sizeof(int32_t)))
                    return NO_MEMORY;
                if (cut.count) memcpy(ids + count, cut.ids, cut.count * sizeof(int32_t));
                count += cut.count;
            }
            if (at < end && *at == ' ') at++;
        }
        int failed = map_answer(&reader.words, &reader.words.keys[reader.asked[i]], ids, count);
        free(ids);
        if (failed) return NO_MEMORY;
    }
    for (size_t i = 0; i < reader.waiting_count; i++) {
        reader.bytes[i] = reader.bytes[reader.waiting[i]];
        reader.sizes[i] = reader.sizes[reader.waiting[i]];
    }
    int failed = mean_texts(&reader, &(Range){0, reader.waiting_count, reader.waiting}, &output);
    reader.asked_count = reader.waiting_count = text_size = 0;
    return failed ? failed : finish();
}

/* Ids of the last text. */
const int32_t *EXPORT(ids)(void) { return reader.ids; }

/* Write the vector of a token. */
void EXPORT(row)(int32_t id, float *vector) {
    average(&output.averager, &id, 1, 1, 0, vector);
}

/* ---- similarities ---- */

typedef float Four __attribute__((vector_size(16), aligned(4)));

#define QUERIES 4 /* each row is read once for so many */

static inline float summed(Four sum) { return (sum[0] + sum[1]) + (sum[2] + sum[3]); }

/* Write the cosines of QUERIES unit vectors with rows to `out` (QUERIES, count); NaN for zeros. */
static void cosines(const float *queries, const float *rows, size_t count, size_t dimension,
                    float *out) {
    for (size_t i = 0; i < count; i++, rows += dimension) {
        Four sums[QUERIES] = {0}, squares = {0};
        size_t d = 0;
        for (; d + 4 <= dimension; d += 4) {
            Four part = *(const Four *)(rows + d);
            squares += part * part;
            for (size_t q = 0; q < QUERIES; q++)
                sums[q] += part * *(const Four *)(queries + q * dimension + d);
        }
        float square = summed(squares);
        for (size_t e = d; e < dimension; e++) square += rows[e] * rows[e];
        float factor = 1 / sqrtf(square); /* infinite for zeros, whose product then is NaN */
        for (size_t q = 0; q < QUERIES; q++) {
            float sum = summed(sums[q]);
            for (size_t e = d; e < dimension; e++) sum += rows[e] * queries[q * dimension + e];
            out[q * count + i] = sum * factor;
        }
    }
}

/* Write the cosines of unit vectors with rows to `out` (number, count). `number` must be a multiple
   of four. */
void EXPORT(cosines)(const float *queries, size_t number, const float *rows, size_t count,
                     size_t dimension, float *out) {
    for (size_t q = 0; q < number; q += QUERIES)
        cosines(queries + q * dimension, rows, count, dimension, out + q * count);
}

/* Scale vectors to unit length. Zeros become NaN. */
void EXPORT(normalize)(float *vectors, size_t count, size_t dimension) {
    for (; count--; vectors += dimension) {
        double norm = sqrt(square(vectors, dimension));
        scale(vectors, dimension, (float)(1 / norm), vectors);
    }
}
