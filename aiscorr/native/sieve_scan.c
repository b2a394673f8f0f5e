/* Goes through a block: where texts begin, and where records of AIStore do that matter.
 *
 * A bit is set for each word of four bytes by which a text is known (sieve_words.c). It is asked for at every fourth place
 * of a block; where it is set, what its words have in common is compared, then the words, and then their texts.
 */
#include "sieve.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(AISCORR_PLAIN_SIEVE)
#include <immintrin.h>
#define FAST __attribute__((target("avx2,popcnt")))

int is_scan_runnable(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"); }

int is_scan_fast(void) { return is_scan_runnable(); }

/* Of eight places in a row, those whose bits are set, as bits of a number. */
FAST static inline unsigned set_of_eight(const Index *index, Bytes data)
{
    const __m256i five = _mm256_set1_epi32(0x1f1f1f1f), factor = _mm256_set1_epi32((int)FACTOR), low = _mm256_set1_epi32(31);
    __m256i words = _mm256_loadu_si256((const __m256i *)data);
    __m256i hash = _mm256_mullo_epi32(_mm256_and_si256(words, five), factor);
    __m256i bits = _mm256_i32gather_epi32((const int *)index->bits, _mm256_srli_epi32(hash, 17), 4);
    __m256i shift = _mm256_and_si256(_mm256_srli_epi32(hash, 12), low);
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(bits, shift)));
}

#else
#define FAST

int is_scan_runnable(void) { return 1; }

int is_scan_fast(void) { return 0; }

static unsigned set_of_eight(const Index *index, Bytes data)
{
    unsigned set = 0;
    for (int at = 0; at < 8; at++) {
        uint32_t bit = bit_of(word_at(data + WORD_BYTES * at));
        set |= (unsigned)((index->bits[bit >> 5] & mask_of(bit)) != 0) << at;
    }
    return set;
}
#endif

/* The word at a place, which the end of the block may cut. */
static uint32_t cut_word(const Scan *scan, Py_ssize_t place)
{
    unsigned char last[WORD_BYTES] = {0};
    if (scan->size - place >= WORD_BYTES)
        return word_at(scan->data + place);
    memcpy(last, scan->data + place, (size_t)(scan->size - place));
    return word_at(last);
}

FAST static const Slot *slot_of(const Index *index, uint32_t bit)
{
    uint32_t bits = index->bits[bit >> 5];
    return &index->slots[index->slots_before[bit >> 5] + (uint32_t)__builtin_popcount(bits & ~(UINT32_MAX >> (bit & 31)))];
}

/* Notes the places of whole stretches of 256 bytes whose bits are set; returns where it stopped. Bits are gathered first
 * and looked at later, as it takes long to know them. */
FAST static Py_ssize_t note_set(const Index *index, Scan *scan, Py_ssize_t place, Py_ssize_t end)
{
    uint64_t sets[CHUNK_BYTES / STRETCH];
    Py_ssize_t count = (end - place) / STRETCH;
    for (Py_ssize_t n = 0; n < count; n++) {
        Bytes data = scan->data + place + n * STRETCH;
        uint64_t set = 0;
        for (int eight = 0; eight < 8; eight++)
            set |= (uint64_t)set_of_eight(index, data + eight * 32) << eight * 8;
        sets[n] = set;
    }
    for (Py_ssize_t n = 0; n < count; n++)
        for (uint64_t set = sets[n]; set; set &= set - 1)
            scan->places[scan->place_count++] = (uint16_t)(n * STRETCH + WORD_BYTES * __builtin_ctzll(set));
    return place + count * STRETCH;
}

/* Keeps of the places noted those at which stands what all words of their bit have in common. */
FAST static void keep_alike(const Index *index, Scan *scan)
{
    int count = 0;
    for (int at = 0; at < scan->place_count; at++) {
        uint32_t word = word_at(scan->data + scan->chunk + scan->places[at]);
        const Slot *slot = slot_of(index, bit_of(word));
        scan->places[count] = scan->places[at];
        count += ((word ^ slot->word) & slot->mask) == 0;
    }
    scan->place_count = count;
}

/* Notes the places of the next chunk at which a text may stand. */
FAST static void note_places(const Index *index, Scan *scan)
{
    Py_ssize_t end = scan->size - scan->next > CHUNK_BYTES ? scan->next + CHUNK_BYTES : scan->size;
    scan->chunk = scan->next;
    scan->place_count = scan->place_at = 0;
    scan->next = note_set(index, scan, scan->next, end);
    scan->met += scan->place_count;
    keep_alike(index, scan);
    for (; scan->next < end; scan->next += WORD_BYTES) {
        uint32_t bit = bit_of(cut_word(scan, scan->next));
        if (index->bits[bit >> 5] & mask_of(bit))
            scan->places[scan->place_count++] = (uint16_t)(scan->next - scan->chunk);
    }
}

/* Where a text begins that has a word at a place, and does not begin in front of the floor; -1 for none. */
FAST static Py_ssize_t text_around(const Index *index, const Scan *scan, Py_ssize_t place)
{
    uint32_t found = cut_word(scan, place);
    const Slot *slot = slot_of(index, bit_of(found));
    for (uint32_t at = slot->first_entry; at < slot->past_entries; at++) {
        const Entry *entry = &index->entries[at];
        if ((found ^ entry->word) & entry->mask)
            continue;
        Py_ssize_t start = place - entry->behind;
        if (start >= scan->floor && entry->size <= scan->size - start &&
            memcmp(scan->data + start, index->letters + entry->start, (size_t)entry->size) == 0)
            return start;
    }
    return -1;
}

Py_ssize_t next_text(const Index *index, Scan *scan)
{
    while (1) {
        for (; scan->place_at < scan->place_count; scan->place_at++) {
            Py_ssize_t place = scan->chunk + scan->places[scan->place_at];
            if (place + WORD_BYTES <= scan->floor)
                continue;
            Py_ssize_t start = text_around(index, scan, place);
            if (start >= 0)
                return start;
        }
        if (scan->next >= scan->size)
            return scan->size;
        note_places(index, scan);
    }
}

static int is_digit(unsigned char letter) { return letter >= '0' && letter <= '9'; }

/* Whether a brace stands behind the time of a record: `I 23:05:55.123456 {a`. */
static int is_behind_time(const Scan *scan, Py_ssize_t brace)
{
    static const char shape[] = "I 00:00:00.000000 {";
    Py_ssize_t start = brace - 18;
    if (start < scan->floor || brace + 1 >= scan->size)
        return 0;
    for (int at = 0; at < 19; at++)
        if (shape[at] == '0' ? !is_digit(scan->data[start + at]) : scan->data[start + at] != (unsigned char)shape[at])
            return 0;
    unsigned char letter = scan->data[brace + 1] | 0x20;
    return letter >= 'a' && letter <= 'z';
}

Py_ssize_t next_brace(Scan *scan)
{
    while (scan->brace < scan->floor || (scan->brace < scan->size && !is_behind_time(scan, scan->brace))) {
        Py_ssize_t from = scan->brace < scan->floor ? scan->floor : scan->brace + 1;
        const void *found = from < scan->size ? memchr(scan->data + from, '{', (size_t)(scan->size - from)) : NULL;
        scan->brace = found == NULL ? scan->size : (Bytes)found - scan->data;
    }
    return scan->brace;
}

/* Whether a warning or an error may begin at a place: `E 0`, `W 2`. */
FAST static inline int is_severe(Bytes text)
{
    return ((text[0] == 'E') | (text[0] == 'W')) & (text[1] == ' ') & (text[2] >= '0') & (text[2] <= '2');
}

FAST Py_ssize_t next_severe(Scan *scan)
{
    Py_ssize_t place = scan->floor, last = scan->size - 2;
    if (scan->severe >= scan->floor)
        return scan->severe;
    for (; last - place >= STRETCH; place += STRETCH) {
        unsigned char any = 0;
        for (int at = 0; at < STRETCH; at++)
            any |= (unsigned char)is_severe(scan->data + place + at);
        if (any)
            break;
    }
    while (place < last && !is_severe(scan->data + place))
        place++;
    return scan->severe = place < last ? place : scan->size;
}
