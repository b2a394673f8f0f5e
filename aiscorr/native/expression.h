/* Expressions of line formats, as parse/search/expression_code.py writes them, matched as Python's `re` does. */
#ifndef AISCORR_EXPRESSION_H
#define AISCORR_EXPRESSION_H

#include "native.h"

#define MOST_SLOTS 32
/* Steps after which a search is left to Python. */
#define MOST_STEPS 200000

typedef struct {
    int32_t *code;
    unsigned char *sets; /* of 32 bytes each: a bit for each byte that is in it */
    unsigned char firsts[32];
} Expression;

/* A text to match in, and what was found: where groups begin and end, NULL for a group that took no part. */
typedef struct {
    Bytes begin, end;
    const unsigned char *sets;
    Bytes slots[MOST_SLOTS];
    long steps;
    int is_used; /* whether slots are those of a match */
} Matching;

static inline int is_in(const unsigned char *set, unsigned char byte) { return set[byte >> 3] >> (byte & 7) & 1; }

/* Where a match that begins at a place ends; NULL where there is none. */
Bytes match_at(const Expression *expression, Matching *matching, Bytes place);

/* Where the first match from a place on ends; NULL where there is none. */
Bytes match_from(const Expression *expression, Matching *matching, Bytes place);

/* Takes code, sets and first bytes, each as bytes; 0, or -1 with an error set. */
int take_expression(Expression *expression, PyObject *code, PyObject *sets, PyObject *firsts);

void drop_expression(Expression *expression);

#endif
