/* Numbers and names eight bytes at a time, where the lowest byte of a number comes first; elsewhere byte by byte. */
#ifndef AISCORR_SWIFT_H
#define AISCORR_SWIFT_H

#include "native.h"

#define MOST_DIGITS 18

static inline int is_digit(unsigned char letter) { return letter >= '0' && letter <= '9'; }

#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

static inline uint64_t eight_at(Bytes text)
{
    uint64_t eight;
    memcpy(&eight, text, sizeof eight);
    return eight;
}

/* How many of eight letters are digits in front of one that is not; `*value` is their number. */
static inline int eight_digits(uint64_t eight, int64_t *value)
{
    uint64_t parts = eight ^ 0x3030303030303030u;
    uint64_t others = (parts | (parts + 0x0606060606060606u)) & 0xf0f0f0f0f0f0f0f0u;
    int count = others ? __builtin_ctzll(others) / 8 : 8;
    if (count == 0)
        return 0;
    parts <<= 64 - 8 * count; /* zeros in front change no number */
    parts = parts * 10 + (parts >> 8);
    parts = ((parts & 0xff000000ffu) * 0xf424000000064u + ((parts >> 16) & 0xff000000ffu) * 0x271000000001u) >> 32;
    *value = (int64_t)parts;
    return count;
}

/* As number_at, of as many digits as eight letters at a time take; less where the text ends or is a longer number. */
static inline Py_ssize_t swift_digits(Bytes text, Py_ssize_t size, int64_t *value)
{
    static const int64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    Py_ssize_t at = 0;
    int count = 8;
    for (int64_t more; count == 8 && size - at >= 8 && at <= MOST_DIGITS - 8; at += count)
        if ((count = eight_digits(eight_at(text + at), &more)))
            *value = *value * tens[count] + more;
    return at;
}

/* Whether a name is what a text, of at least its size, begins with; eight bytes of both can be read at each of its letters. */
static inline int is_same(Bytes text, Bytes name, Py_ssize_t name_size)
{
    Py_ssize_t at = 0;
    for (; name_size - at >= 8; at += 8)
        if (eight_at(text + at) != eight_at(name + at))
            return 0;
    return at == name_size || (eight_at(text + at) ^ eight_at(name + at)) << (64 - 8 * (name_size - at)) == 0;
}

#else

static inline Py_ssize_t swift_digits(Bytes text, Py_ssize_t size, int64_t *value) { return 0; }

static inline int is_same(Bytes text, Bytes name, Py_ssize_t name_size) { return memcmp(text, name, (size_t)name_size) == 0; }

#endif

/* The digits at a place as a number, at most 18 of them; returns how many there are. */
static inline Py_ssize_t number_at(Bytes text, Py_ssize_t size, int64_t *value)
{
    *value = 0;
    Py_ssize_t at = swift_digits(text, size, value);
    for (; at < size && at < MOST_DIGITS && is_digit(text[at]); at++)
        *value = *value * 10 + (text[at] - '0');
    return at;
}

/* Whether a text begins with a name behind which there is room for seven more bytes. */
static inline int begins_with(Bytes text, Py_ssize_t size, Bytes name, Py_ssize_t name_size)
{
    if (size - name_size >= 7)
        return is_same(text, name, name_size);
    return size >= name_size && memcmp(text, name, (size_t)name_size) == 0;
}

#endif
