/* By which words a text is known: four words of four bytes, each a byte behind the one before, so that one of them is at a
 * fourth place of a block wherever the text stands. Of a short text some of these bytes are not known and may be any.
 */
#include "sieve.h"

#define WORDS_A_TEXT 4
#define MOST 0xffff

/* A word that stands so far behind the beginning of a text, which may be in front of it. */
static Word word_of(const Index *index, int32_t number, int behind)
{
    const Text *text = &index->texts[number];
    unsigned char word[WORD_BYTES] = {0}, mask[WORD_BYTES] = {0};
    for (int at = 0; at < WORD_BYTES; at++)
        if (behind + at >= 0 && behind + at < text->size) {
            word[at] = index->letters[text->start + behind + at];
            mask[at] = 0xff;
        }
    return (Word){word_at(word), word_at(mask), number, behind};
}

static int open_count(const Word *word)
{
    unsigned char mask[WORD_BYTES];
    int count = 0;
    memcpy(mask, &word->mask, WORD_BYTES);
    for (int at = 0; at < WORD_BYTES; at++)
        count += mask[at] == 0;
    return count;
}

/* The bit of a word with one choice of its bytes that are not known; there are 32 choices of each. */
static uint32_t bit_of_choice(const Word *word, int choice)
{
    unsigned char bytes[WORD_BYTES], mask[WORD_BYTES];
    memcpy(bytes, &word->word, WORD_BYTES);
    memcpy(mask, &word->mask, WORD_BYTES);
    for (int at = 0; at < WORD_BYTES; at++)
        if (mask[at] == 0) {
            bytes[at] = (unsigned char)(choice & 31);
            choice >>= 5;
        }
    return bit_of(word_at(bytes));
}

/* How often the bits of a word are met in the sample. */
static uint32_t weight_of(const Word *word, const uint16_t *counts)
{
    uint32_t total = 0;
    for (int choice = 0; choice < 1 << 5 * open_count(word); choice++)
        total += counts[bit_of_choice(word, choice)];
    return total;
}

/* How far the first of the four words stands behind the beginning of the text that are met least, of those that leave as
 * few bytes open as can be: none of seven letters, one of five, two of three. */
static int best_place(const Index *index, int32_t number, const uint16_t *counts)
{
    int size = index->texts[number].size, most_open = size >= 7 ? 0 : size >= 5 ? 1 : 2;
    int first = -most_open, last = size + most_open - WORD_BYTES - (WORDS_A_TEXT - 1), best = first;
    uint32_t weights[LONGEST_TEXT + WORD_BYTES], least = UINT32_MAX;
    for (int behind = first; behind < last + WORDS_A_TEXT; behind++) {
        Word word = word_of(index, number, behind);
        weights[behind - first] = weight_of(&word, counts);
    }
    for (int behind = first; behind <= last; behind++) {
        const uint32_t *four = &weights[behind - first];
        uint32_t total = four[0] + four[1] + four[2] + four[3];
        if (total < least) {
            least = total;
            best = behind;
        }
    }
    return best;
}

static int add_word(Index *index, Word word)
{
    int count = 1 << 5 * open_count(&word);
    const Text *text = &index->texts[word.text];
    uint32_t number = (uint32_t)index->word_count;
    if (index->entry_count + count > index->entry_room) {
        Py_ssize_t room = index->entry_room * 2 + count;
        Entry *entries = realloc(index->entries, (size_t)room * sizeof(Entry));
        if (entries == NULL)
            return PyErr_NoMemory(), -1;
        index->entries = entries;
        index->entry_room = room;
    }
    for (int choice = 0; choice < count; choice++) {
        uint32_t bit = bit_of_choice(&word, choice);
        index->entries[index->entry_count++] = (Entry){bit, number, word.word, word.mask, word.behind, text->size, text->start};
        index->bits[bit >> 5] |= mask_of(bit);
    }
    index->words[index->word_count++] = word;
    return 0;
}

static int by_bit(const void *left, const void *right)
{
    uint32_t a = ((const Entry *)left)->bit, b = ((const Entry *)right)->bit;
    return (a > b) - (a < b);
}

/* Narrows a slot to what it has in common with one more word. */
static void narrow(Slot *slot, const Word *word)
{
    slot->mask &= word->mask & ~(slot->word ^ word->word);
    slot->word &= slot->mask;
}

/* Puts entries in the order of their bits, and makes the slots. */
static int put_in_order(Index *index)
{
    Slot *slots = malloc((size_t)(index->entry_count + 1) * sizeof(Slot));
    Py_ssize_t at = 0;
    uint32_t count = 0;
    if (slots == NULL)
        return PyErr_NoMemory(), -1;
    index->slots = slots;
    qsort(index->entries, (size_t)index->entry_count, sizeof(Entry), by_bit);
    for (uint32_t number = 0; number < BIT_WORDS; number++) {
        index->slots_before[number] = count;
        while (at < index->entry_count && index->entries[at].bit >> 5 == number) {
            uint32_t bit = index->entries[at].bit;
            Slot *slot = &slots[count++];
            *slot = (Slot){index->words[index->entries[at].number].word, UINT32_MAX, (uint32_t)at, 0};
            for (; at < index->entry_count && index->entries[at].bit == bit; at++)
                narrow(slot, &index->words[index->entries[at].number]);
            slot->past_entries = (uint32_t)at;
        }
    }
    return 0;
}

int choose_words(Index *index, Bytes sample, Py_ssize_t size)
{
    uint16_t *counts = calloc(BIT_COUNT, sizeof(uint16_t));
    int done = 0;
    free(index->slots);
    index->slots = NULL; /* nothing is chosen unless all goes well */
    if (counts == NULL)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t at = 0; at + WORD_BYTES <= size; at++) {
        uint16_t *count = &counts[bit_of(word_at(sample + at))];
        *count += *count < MOST;
    }
    index->entry_count = index->word_count = 0;
    memset(index->bits, 0, sizeof(index->bits));
    for (Py_ssize_t number = 0; done == 0 && number < index->text_count; number++) {
        int best = best_place(index, (int32_t)number, counts);
        for (int behind = best; done == 0 && behind < best + WORDS_A_TEXT; behind++)
            done = add_word(index, word_of(index, (int32_t)number, behind));
    }
    free(counts);
    return done == 0 ? put_in_order(index) : -1;
}
