/* From candidate places in a block to segments of lines, as parse/search/scan.py does it.
 *
 * Each byte is looked at a fixed number of times, whatever the block holds.
 */
#include "native.h"

#define MAX_SEGMENT_BYTES (64 * 1024)
#define WINDOW_BEFORE (8 * 1024)
#define LONG_LINE_BYTES (32 * 1024)
/* In a line in which expressions fired more often Python looks. */
#define FEW_HITS 64

typedef struct {
    Py_ssize_t end;
    long number;
} Hit;

typedef struct {
    PyObject_HEAD
    PyObject *segment; /* what makes a segment of a tuple of its fields */
    Py_buffer view;
    Bytes data;
    Hit *hits;
    Py_ssize_t size, hit_count, next_hit, free; /* free: the first byte that was not handed out */
    Py_ssize_t counted, line_start; /* newlines in front of `counted` are counted */
    Py_ssize_t newline, carriage;   /* the first of each that is not behind the place it was looked for from */
    int64_t line_no, block_offset;
    int is_open;
} Walk;

typedef struct {
    Py_ssize_t start, end, first_hit, past_hits;
    int is_clipped;
} Found;

/* Sums of 32 places in a row are kept in a byte each, which the compiler does at once where the processor can. */
static inline Py_ssize_t count_newlines_in(Bytes text, Py_ssize_t size)
{
    Py_ssize_t total = 0, at = 0;
    while (size - at >= 32) {
        unsigned char sums[32] = {0};
        Py_ssize_t rounds = (size - at) / 32 < 255 ? (size - at) / 32 : 255;
        for (Py_ssize_t round = 0; round < rounds; round++, at += 32)
            for (int n = 0; n < 32; n++)
                sums[n] += text[at + n] == '\n';
        for (int n = 0; n < 32; n++)
            total += sums[n];
    }
    for (; at < size; at++)
        total += text[at] == '\n';
    return total;
}

#if defined(__x86_64__) && defined(__GNUC__)

__attribute__((target("avx2"))) static Py_ssize_t count_newlines_fast(Bytes text, Py_ssize_t size)
{
    return count_newlines_in(text, size);
}

Py_ssize_t newlines(Bytes text, Py_ssize_t size)
{
    return __builtin_cpu_supports("avx2") ? count_newlines_fast(text, size) : count_newlines_in(text, size);
}

#else

Py_ssize_t newlines(Bytes text, Py_ssize_t size) { return count_newlines_in(text, size); }

#endif

/* Counts lines up to a place, and notes where the line that it is in begins. */
static void count_to(Walk *self, Py_ssize_t place)
{
    Py_ssize_t found = place > self->counted ? newlines(self->data + self->counted, place - self->counted) : 0;
    if (found) {
        Py_ssize_t at = place;
        while (self->data[at - 1] != '\n')
            at--;
        self->line_start = at;
        self->line_no += found;
    }
    if (place > self->counted)
        self->counted = place;
}

/* Where a byte stands first from a place on, or the size; places are asked for in order, and `known` was found before. */
static Py_ssize_t position(const Walk *self, Py_ssize_t place, Py_ssize_t known, char wanted)
{
    if (known >= place)
        return known;
    const void *found = place < self->size ? memchr(self->data + place, wanted, (size_t)(self->size - place)) : NULL;
    return found == NULL ? self->size : (Bytes)found - self->data;
}

static Found bounds(Walk *self, Py_ssize_t anchor)
{
    self->newline = position(self, anchor, self->newline, '\n');
    self->carriage = position(self, anchor, self->carriage, '\r');
    Found found = {anchor, self->newline < self->carriage ? self->newline : self->carriage, 0, 0, 0};
    while (found.start > self->free && self->data[found.start - 1] != '\n' && self->data[found.start - 1] != '\r')
        found.start--;
    if (found.end - found.start > MAX_SEGMENT_BYTES) {
        if (anchor - WINDOW_BEFORE > found.start)
            found.start = anchor - WINDOW_BEFORE;
        if (found.end > found.start + MAX_SEGMENT_BYTES)
            found.end = found.start + MAX_SEGMENT_BYTES;
        found.is_clipped = 1;
    }
    return found;
}

/* The next segment; 0 where the block holds no more. */
static int advance(Walk *self, int wants_every_line, Found *found)
{
    Py_ssize_t anchor = self->free;
    while (self->next_hit < self->hit_count && self->hits[self->next_hit].end <= self->free)
        self->next_hit++;
    if (self->free >= self->size)
        return 0;
    if (!wants_every_line) {
        if (self->next_hit >= self->hit_count)
            return 0;
        if (self->hits[self->next_hit].end - 1 > anchor)
            anchor = self->hits[self->next_hit].end - 1;
    }
    *found = bounds(self, anchor);
    found->first_hit = self->next_hit;
    while (self->next_hit < self->hit_count && self->hits[self->next_hit].end <= found->end + 1)
        self->next_hit++;
    found->past_hits = self->next_hit;
    count_to(self, found->start);
    self->free = found->end;
    if (found->end < self->size && (self->data[found->end] == '\n' || self->data[found->end] == '\r')) {
        int is_pair = self->data[found->end] == '\r' && found->end + 1 < self->view.len && self->data[found->end + 1] == '\n';
        self->free = found->end + 1 + is_pair;
    }
    return 1;
}

static int by_number(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

/* The numbers of the expressions that fired in a segment, each once, in order, and how many there are. */
static Py_ssize_t numbers_of(const Walk *self, const Found *found, long *numbers)
{
    Py_ssize_t count = found->past_hits - found->first_hit, kept = 0;
    for (Py_ssize_t n = 0; n < count; n++)
        numbers[n] = self->hits[found->first_hit + n].number;
    qsort(numbers, (size_t)count, sizeof(long), by_number);
    for (Py_ssize_t n = 0; n < count; n++)
        if (n == 0 || numbers[n] != numbers[n - 1])
            numbers[kept++] = numbers[n];
    return kept;
}

static PyObject *candidates_of(const Walk *self, const Found *found)
{
    Py_ssize_t count = found->past_hits - found->first_hit;
    long few[FEW_HITS], *numbers = count <= FEW_HITS ? few : malloc((size_t)count * sizeof(long));
    if (numbers == NULL)
        return PyErr_NoMemory();
    Py_ssize_t kept = numbers_of(self, found, numbers);
    PyObject *tuple = PyTuple_New(kept);
    for (Py_ssize_t n = 0; tuple != NULL && n < kept; n++) {
        PyObject *number = PyLong_FromLong(numbers[n]);
        if (number == NULL || PyTuple_SetItem(tuple, n, number) < 0)
            Py_CLEAR(tuple);
    }
    if (numbers != few)
        free(numbers);
    return tuple;
}

static PyObject *segment_of(const Walk *self, const Found *found)
{
    PyObject *candidates = candidates_of(self, found);
    if (candidates == NULL)
        return NULL;
    PyObject *fields = Py_BuildValue("(y#LLnnNO)", (const char *)self->data + found->start, found->end - found->start,
                                     (long long)self->line_no, (long long)(self->block_offset + self->line_start),
                                     found->start, found->end, candidates, found->is_clipped ? Py_True : Py_False);
    PyObject *segment = fields == NULL ? NULL : PyObject_CallFunctionObjArgs(self->segment, fields, NULL);
    Py_XDECREF(fields);
    return segment;
}

/* Offers a segment to what takes lines: 1 where it took it, 0 where Python is to look at it, -1 on error. */
static int offer(Walk *self, PyObject *taker, int is_events, const Found *found, int wants_every_line)
{
    Py_ssize_t size = found->end - found->start, hit_count = found->past_hits - found->first_hit;
    int64_t offset = self->block_offset + self->line_start;
    if (!is_events)
        return take_line((Stats *)taker, self->data + found->start, size, self->line_no, offset, wants_every_line, !hit_count);
    long numbers[FEW_HITS];
    if (wants_every_line || hit_count > FEW_HITS)
        return 0;
    return take_event((Events *)taker, self->data, found->start, size, self->line_no, offset, self->block_offset, numbers,
                      numbers_of(self, found, numbers));
}

/* The next segment that Python must look at; lines that a taker takes, where one is given, are left out, and the first of
 * them ends a record that wanted every line.
 */
static PyObject *walk_next(Walk *self, PyObject *args)
{
    int wants_every_line;
    PyObject *taker = Py_None;
    Found found;
    if (!PyArg_ParseTuple(args, "p|O", &wants_every_line, &taker))
        return NULL;
    const State *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    int is_events = Py_TYPE(taker) == state->events_type;
    if (taker != Py_None && !is_events && Py_TYPE(taker) != state->stats_type)
        return PyErr_SetString(PyExc_TypeError, "Stats, Events or None is wanted"), NULL;
    while (self->is_open && advance(self, wants_every_line, &found)) {
        int taken = 0;
        if (taker != Py_None && !found.is_clipped && found.end - found.start < LONG_LINE_BYTES)
            taken = offer(self, taker, is_events, &found, wants_every_line);
        if (taken < 0)
            return NULL;
        if (!taken)
            return segment_of(self, &found);
        wants_every_line = 0;
    }
    if (self->is_open)
        count_to(self, self->size);
    self->is_open = 0;
    Py_RETURN_NONE;
}

static PyObject *walk_line_no(Walk *self, PyObject *unused) { return PyLong_FromLongLong(self->line_no); }

static int take_hits(Walk *self, PyObject *hits)
{
    Py_ssize_t count = PyList_Size(hits), before = 0;
    if (count < 0 || (count && (self->hits = malloc((size_t)count * sizeof(Hit))) == NULL))
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    for (; self->hit_count < count; self->hit_count++) {
        PyObject *pair = PyList_GetItem(hits, self->hit_count);
        PyObject *end = pair ? PyTuple_GetItem(pair, 0) : NULL, *number = end ? PyTuple_GetItem(pair, 1) : NULL;
        if (number == NULL)
            return -1;
        Hit hit = {PyLong_AsSsize_t(end), PyLong_AsLong(number)};
        if (PyErr_Occurred())
            return -1;
        if (hit.end < before || hit.end > self->size)
            return PyErr_SetString(PyExc_ValueError, "hits are not in order, or not in the block"), -1;
        self->hits[self->hit_count] = hit;
        before = hit.end;
    }
    return 0;
}

static PyObject *walk_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *segment, *data, *hits;
    Py_ssize_t size;
    long long line_no, block_offset;
    if (!PyArg_ParseTuple(args, "OOnO!LL", &segment, &data, &size, &PyList_Type, &hits, &line_no, &block_offset))
        return NULL;
    Walk *self = (Walk *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    if (PyObject_GetBuffer(data, &self->view, PyBUF_SIMPLE) < 0)
        goto failed;
    if (size < 0 || size > self->view.len) {
        PyErr_SetString(PyExc_ValueError, "the size is not that of the buffer");
        goto failed;
    }
    Py_INCREF(segment);
    self->segment = segment;
    self->data = self->view.buf;
    self->size = size;
    self->newline = self->carriage = -1;
    self->line_no = line_no;
    self->block_offset = block_offset;
    self->is_open = 1;
    if (take_hits(self, hits) == 0)
        return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static void walk_free(Walk *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    if (self->view.obj != NULL)
        PyBuffer_Release(&self->view);
    Py_XDECREF(self->segment);
    free(self->hits);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef walk_methods[] = {
    {"next", (PyCFunction)walk_next, METH_VARARGS, "The next segment that Python must look at, or None."},
    {"line_no", (PyCFunction)walk_line_no, METH_NOARGS, "The number of the line that is counted so far."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot walk_slots[] = {
    {Py_tp_new, walk_new},
    {Py_tp_dealloc, walk_free},
    {Py_tp_methods, walk_methods},
    {Py_tp_doc, "The segments of one block, in order; the block must not be resized meanwhile."},
    {0, NULL},
};

PyType_Spec walk_spec = {"aiscorr.native._native.Walk", sizeof(Walk), 0, Py_TPFLAGS_DEFAULT, walk_slots};
