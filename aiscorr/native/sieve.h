/* What the files of the sieve share: sieve_words.c chooses words of texts, sieve_scan.c finds them, sieve.c keeps lines. */
#ifndef AISCORR_SIEVE_H
#define AISCORR_SIEVE_H

#include "native.h"

#define WORD_BYTES 4
#define FACTOR 0x9e3779b1u
#define STRETCH 256
#define CHUNK_BYTES (64 * STRETCH)
#define SHORTEST_TEXT 3
#define LONGEST_TEXT 255
#define BIT_COUNT (1u << 20)
#define BIT_WORDS (BIT_COUNT / 32)

typedef struct {
    Py_ssize_t start; /* among the letters of all texts */
    int size;
} Text;

/* A word of a text: `mask` has the bytes of it that are known; it stands so far `behind` the text's beginning. */
typedef struct {
    uint32_t word, mask;
    int32_t text, behind;
} Word;

/* A bit that a word sets; a word of which bytes are not known sets one for each choice of them. The rest is what is
 * compared where the bit is met: the word, and its text among the letters of all.
 */
typedef struct {
    uint32_t bit, number, word, mask;
    int32_t behind, size;
    Py_ssize_t start;
} Entry;

/* What is known of a bit that is set: `word` and `mask` are what all its words have in common. */
typedef struct {
    uint32_t word, mask, first_entry, past_entries;
} Slot;

typedef struct {
    unsigned char *letters;
    Text *texts;
    Word *words;
    Entry *entries; /* in order of their bits */
    Slot *slots;    /* of the bits that are set, in their order */
    Py_ssize_t text_count, word_count, entry_count, entry_room;
    uint32_t slots_before[BIT_WORDS]; /* how many bits are set in front of those that are in one number of `bits` */
    uint32_t bits[BIT_WORDS];         /* the highest bit of each number comes first */
} Index;

/* A block while it is gone through. */
typedef struct {
    Bytes data;
    Py_ssize_t size, floor;   /* floor: the first byte that was not given out */
    Py_ssize_t brace, severe; /* where the next records of these kinds are, unless that is in front of the floor */
    Py_ssize_t next, chunk;   /* the next fourth place to ask about; where `places` count from */
    Py_ssize_t met;           /* places whose bits were set */
    int place_count, place_at;
    uint16_t places[CHUNK_BYTES / WORD_BYTES]; /* at which a text may stand */
} Scan;

static inline uint32_t word_at(Bytes text)
{
    uint32_t word;
    memcpy(&word, text, WORD_BYTES);
    return word;
}

/* The number of the bit of a word: of five bits of each byte, so that there are few choices of one that is not known. */
static inline uint32_t bit_of(uint32_t word) { return ((word & 0x1f1f1f1fu) * FACTOR) >> 12; }

static inline uint32_t mask_of(uint32_t bit) { return 0x80000000u >> (bit & 31); }

/* Whether this processor can run what follows. */
int is_scan_runnable(void);

/* Where a text begins, from the floor on; of those in one line it is any. The size where there is none. */
Py_ssize_t next_text(const Index *index, Scan *scan);

/* Where the brace of `I 23:05:55.123456 {a` stands, from the floor on; the size where there is none. */
Py_ssize_t next_brace(Scan *scan);

/* Where a warning or an error may begin, `E 0` or `W 2`, from the floor on; the size where there is none. */
Py_ssize_t next_severe(Scan *scan);

/* Chooses for each text the words that are rarest in a sample; 0, or -1 with an error set. */
int choose_words(Index *index, Bytes sample, Py_ssize_t size);

#endif
