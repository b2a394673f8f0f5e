/* What the parts of the module share. Only the stable interface of CPython is used, so one build serves 3.11 and later.
 *
 * Nothing is kept outside of objects, every index is checked against the size of its buffer, and whatever is not plain
 * is left to Python, which reads the same without this module.
 */
#ifndef AISCORR_NATIVE_H
#define AISCORR_NATIVE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000LL

typedef const unsigned char *Bytes;
typedef struct Stats Stats;
typedef struct Events Events;

/* What the module holds: its types, as others take them for. */
typedef struct {
    PyTypeObject *stats_type, *events_type, *prefixes_type, *words_type;
} State;

extern PyType_Spec stats_spec, walk_spec, words_spec, sieve_spec, prefixes_spec, events_spec, search_spec;

/* Where the line begins that ends at a place. */
static inline Py_ssize_t start_of_line(Bytes text, Py_ssize_t end)
{
    while (end > 0 && text[end - 1] != '\n')
        end--;
    return end;
}

/* In lines.c: newlines of a stretch of bytes. */
Py_ssize_t newlines(Bytes text, Py_ssize_t size);

/* In words.c: whether a text holds one of the words of an object of that type. */
int holds_word(PyObject *words, Bytes text, Py_ssize_t size);

/* In words.c: nanoseconds of `2026-11-20 23:05:55,123`, or None where it is anything but a plain time since 1970. */
PyObject *iso_ns(PyObject *module, PyObject *raw);

/* In records.c: nanoseconds of `23:05:55.123456 ` since midnight, -1 where the text begins with anything else. */
int64_t time_of_day(Bytes text, Py_ssize_t size);

/* In records.c: of a line that is one plain record its severity, nanoseconds since midnight, source location or None, and
 * where its message begins; None of a statistics line and of any other.
 */
PyObject *record_head(PyObject *module, PyObject *line);

/* In words.c: whether a text is such a time, and its nanoseconds. */
int plain_time(Bytes text, Py_ssize_t size, int64_t *found);

/* In sieve_scan.c: whether this processor is one on which a Sieve is worth while. */
int is_scan_fast(void);

/* In stats.c: takes `I 23:05:55.123456 {a.n:1,b.n:2}`, and where `ends_record` any other plain INFO line behind a record,
 * whose text it ends; 1 if it did, 0 where the line is anything else, -1 on error. `is_plain`: no expression fired in it.
 */
int take_line(Stats *self, Bytes text, Py_ssize_t size, int64_t line_no, int64_t byte_offset, int ends_record, int is_plain);


/* In events.c: takes a line of a block in which expressions fired; 1 if it did, 0 where Python is to look at it, -1 on error. */
int take_event(Events *self, Bytes block, Py_ssize_t start, Py_ssize_t size, int64_t line_no, int64_t line_offset,
               int64_t block_offset, const long *numbers, Py_ssize_t count);

#endif
