/* Growing arrays, byte operations, and a map from words to token ids. */

#ifndef PARAPHRASTIC_MAP_H
#define PARAPHRASTIC_MAP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)0)
#endif

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

/* ---- eight bytes at a time, the first byte lowest ---- */

#define EIGHT 8
#define EVERY(byte) (0x0101010101010101u * (uint64_t)(byte))

static inline uint64_t load(const char *bytes) {
    uint64_t eight;
    memcpy(&eight, bytes, EIGHT);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    return eight;
}

static inline uint64_t low_bytes(uint64_t eight, size_t count) {
    return count >= EIGHT ? eight : eight & (((uint64_t)1 << 8 * count) - 1);
}

/* Set the high bit of every byte that ends a word: up to the space, or DEL. */
static inline uint64_t spaces_in(uint64_t eight) {
    uint64_t low = eight & EVERY(0x7F);
    uint64_t above = (low + EVERY(0x7F - ' ')) & ~(low + EVERY(0x80 - 0x7F));
    return ~(eight | above) & EVERY(0x80);
}

/* Return the number of the byte with the lowest set bit. */
static inline size_t lowest_byte(uint64_t bits) {
#if defined(__GNUC__)
    return (size_t)__builtin_ctzll(bits) / 8;
#else
    size_t byte = 0;
    for (; !(bits & 0xFF); bits >>= 8) byte++;
    return byte;
#endif
}

static void lower_ascii(char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bytes[i] = (char)(c + ((unsigned char)(c - 'A') < 26 ? 'a' - 'A' : 0));
    }
}

/* ---- the map; words passed to it must be followed by EIGHT readable bytes ---- */

#define SHORT 16 /* bytes of a word stored in its key */
#define FEW 4    /* ids stored in a key */
#define UNANSWERED (-1)

typedef struct {
    uint32_t hash, length;
    int32_t count; /* number of ids, or UNANSWERED */
    union {
        int32_t few[FEW];
        uint64_t start; /* offset of more ids in the map's ids */
    } ids;
    union {
        char bytes[SHORT]; /* padded with zeros */
        uint64_t start;    /* offset of a longer word in the map's bytes */
    } word;
} Key;

typedef struct {
    uint32_t hash;
    uint32_t number; /* number of a key plus one; 0 if free */
} Slot;

typedef struct {
    Slot *slots;
    size_t mask; /* number of slots minus one */
    Key *keys;
    size_t count, capacity;
    char *bytes;
    size_t bytes_used, bytes_capacity;
    int32_t *ids;
    size_t ids_used, ids_capacity;
} Map;

static void map_free(Map *map) {
    free(map->slots);
    free(map->keys);
    free(map->bytes);
    free(map->ids);
    memset(map, 0, sizeof *map);
}

static void map_clear(Map *map) {
    if (map->slots) memset(map->slots, 0, (map->mask + 1) * sizeof(Slot));
    map->count = map->bytes_used = map->ids_used = 0;
}

static inline uint32_t hash_word(const char *word, size_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ length;
    for (; length > EIGHT; word += EIGHT, length -= EIGHT) {
        hash = (hash ^ load(word)) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    hash = (hash ^ low_bytes(load(word), length)) * 0xFF51AFD7ED558CCDu;
    return (uint32_t)(((hash ^ hash >> 32) * 0xC4CEB9FE1A85EC53u) >> 32);
}

static inline const char *key_word(const Map *map, const Key *key) {
    return key->length <= SHORT ? key->word.bytes : map->bytes + key->word.start;
}

static inline const int32_t *key_ids(const Map *map, const Key *key) {
    return key->count <= FEW ? key->ids.few : map->ids + key->ids.start;
}

static inline int same_word(const char *key, const char *word, size_t length) {
    for (; length > EIGHT; key += EIGHT, word += EIGHT, length -= EIGHT)
        if (load(key) != load(word)) return 0;
    return load(key) == low_bytes(load(word), length);
}

static inline Key *map_find(const Map *map, const char *word, size_t length, uint32_t hash) {
    if (!map->slots) return NULL;
    for (size_t at = hash & map->mask;; at = (at + 1) & map->mask) {
        Slot slot = map->slots[at];
        if (!slot.number) return NULL;
        if (slot.hash != hash) continue;
        Key *key = &map->keys[slot.number - 1];
        if (key->length == length && same_word(key_word(map, key), word, length)) return key;
    }
}

static void place(Slot *slots, size_t mask, Slot slot) {
    size_t at = slot.hash & mask;
    while (slots[at].number) at = (at + 1) & mask;
    slots[at] = slot;
}

/* Add a missing word with an UNANSWERED key; NULL if out of memory. */
static Key *map_add(Map *map, const char *word, size_t length, uint32_t hash) {
    if (map->count >= INT32_MAX - 1 || length >= UINT32_MAX - EIGHT) return NULL;
    size_t padded = (length + EIGHT - 1) / EIGHT * EIGHT;
    if (reserve((void **)&map->keys, &map->capacity, map->count + 1, sizeof(Key)) ||
        (length > SHORT &&
         reserve((void **)&map->bytes, &map->bytes_capacity, map->bytes_used + padded, 1)))
        return NULL;
    if (!map->slots || map->count * 2 >= map->mask) {
        size_t wanted = map->slots ? (map->mask + 1) * 2 : 256;
        Slot *slots = calloc(wanted, sizeof(Slot));
        if (!slots) return NULL;
        for (size_t i = 0; map->slots && i <= map->mask; i++)
            if (map->slots[i].number) place(slots, wanted - 1, map->slots[i]);
        free(map->slots);
        map->slots = slots;
        map->mask = wanted - 1;
    }
    Key *key = &map->keys[map->count++];
    memset(key, 0, sizeof *key);
    key->hash = hash;
    key->length = (uint32_t)length;
    key->count = UNANSWERED;
    if (length > SHORT) {
        key->word.start = map->bytes_used;
        memset(map->bytes + map->bytes_used + padded - EIGHT, 0, EIGHT);
        memcpy(map->bytes + map->bytes_used, word, length);
        map->bytes_used += padded;
    } else {
        memcpy(key->word.bytes, word, length);
    }
    place(map->slots, map->mask, (Slot){hash, (uint32_t)map->count});
    return key;
}

/* Set the ids of a key; -1 if out of memory. */
static int map_answer(Map *map, Key *key, const int32_t *ids, size_t count) {
    int32_t *held = key->ids.few;
    if (count > FEW) {
        if (count > INT32_MAX ||
            reserve((void **)&map->ids, &map->ids_capacity, map->ids_used + count,
                    sizeof(int32_t)))
            return -1;
        key->ids.start = map->ids_used;
        held = map->ids + map->ids_used;
        map->ids_used += count;
    }
    if (count) memcpy(held, ids, count * sizeof(int32_t));
    key->count = (int32_t)count;
    return 0;
}

#endif
