/* What the files of line prefixes share: prefix_line.c reads a line, prefixes.c makes objects of what it has read. */
#ifndef AISCORR_PREFIXES_H
#define AISCORR_PREFIXES_H

#include "expression.h"

#define SEARCH_LIMIT 512
#define LINE_LIMIT 4096
#define STAMP_BYTES 1024 /* of a line that is looked at for its stamp only */
#define MOST_WRAPPERS 6
#define MOST_WORDS 8
#define WORD_SIZE 32

/* The groups that are asked for: their numbers in an expression, 0 where it has none of that name. */
enum { ISO, ZONE, PID, RANK, LOCAL_RANK, TASK, HOST, GROUP_COUNT };

typedef struct {
    Expression expression;
    int groups[GROUP_COUNT];
    int is_anywhere, is_passed; /* is_passed: the message begins behind it */
    int is_timed, has_rank;     /* whether it may tell a time, a rank */
    long width;                           /* the most bytes of a match; -1 for no telling */
    Py_ssize_t word_count, word_sizes[MOST_WORDS], rarest[MOST_WORDS]; /* rarest: where the rarest letter of it stands */
    unsigned char words[MOST_WORDS][WORD_SIZE]; /* in lower case, of which each match holds one; none for no telling */
} Form;

typedef struct {
    PyObject_HEAD
    Form *forms; /* wrappers, stamps, rank_tag, rank_group, rank_bare, and the other forms of ranks */
    Py_ssize_t count, wrapper_count, stamp_count;
    PyObject *prefix_type, *stamp_type, *make; /* make: tuple.__new__ */
} Prefixes;

typedef struct {
    int is_there;
    int64_t value;
} Number;

typedef struct {
    int is_there;
    int64_t local_ns, zone_s, end;
    int has_zone;
    Number pid, rank;
} Time;

typedef struct {
    Bytes line;
    Matching matching;
    Time own, wrapper;
    Number rank, wrapped_rank, local_rank, task, pid, group_rank;
    const char *rank_source;
    Bytes host, host_end;
    Py_ssize_t wrapped_end, body_start, message_start;
    Number near, noted; /* what the YearContext is told */
    int is_plain;
    Py_ssize_t size;                 /* this and what follows is not cleared */
    unsigned char lower[LINE_LIMIT]; /* the line in lower case */
} Reading;

/* Opens the reading of a line; 0 where it is too long. */
int open_reading(Reading *r, Bytes line, Py_ssize_t size);

/* Whether all of a line was plain, and is read. */
static inline int is_read(const Reading *r) { return r->is_plain && r->matching.steps < MOST_STEPS; }

/* Reads a line; where `r->is_plain` is not set afterwards, Python is to read it. Without ranks where told so. */
void read_line(const Prefixes *self, Reading *r, int only_stamps);

/* Where the nearest line in front of a place begins that has a stamp, or begins at a known place, or is to be read by Python, as
 * it is not plain; -1 for none. The first line is the one that holds `low`.
 */
Py_ssize_t last_stamped(const Prefixes *self, Reading *r, Bytes text, Py_ssize_t low, Py_ssize_t end, Py_ssize_t known);

/* What is read, as Python's values. */
PyObject *number_or_none(Number number);
PyObject *word_or_none(const char *word);
Number pid_of(const Reading *r);

/* Reads only the rank and the local rank of a line. */
void read_owner(const Prefixes *self, Reading *r);

#endif
