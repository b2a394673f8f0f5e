/* The lines of a block that hold one of many texts, so that only these are searched for whole expressions.
 *
 * Statistics lines, `I 23:05:55.123456 {` and no blank behind it, hold nothing but counters: they are told as hits of the
 * expression for them and not searched for others. Words are chosen by what stands in the block at hand, anew where they
 * are met too often: the choice changes the time, not what is found.
 */
#include "sieve.h"

#define FIRST_LOOK (1024 * 1024)
#define LAST_LOOK (64 * 1024 * 1024)
/* One word met on so many bytes is few. */
#define MET_BYTES 64

typedef struct {
    Py_ssize_t kept, in_block; /* where a line begins among the kept ones, and in the block */
} Line;

typedef struct {
    PyObject_HEAD
    Index index;
    Line *lines;
    Py_ssize_t *statistics; /* where the expression of statistics lines matches, in the block */
    Py_ssize_t line_count, line_room, statistics_count, statistics_room;
    Py_ssize_t read, met, look; /* bytes, and words met, since words were chosen; how many bytes to read before the next look */
    long expression;            /* the number of that for statistics lines; -1 where lines are not AIStore's */
} Sieve;

static int make_room(void **items, Py_ssize_t *room, Py_ssize_t count, size_t item_size)
{
    if (count < *room)
        return 0;
    Py_ssize_t more = *room ? *room * 2 : 256;
    void *found = realloc(*items, (size_t)more * item_size);
    if (found == NULL)
        return PyErr_NoMemory(), -1;
    *items = found;
    *room = more;
    return 0;
}

static Py_ssize_t line_end(const Scan *scan, Py_ssize_t place)
{
    const void *newline = memchr(scan->data + place, '\n', (size_t)(scan->size - place));
    return newline == NULL ? scan->size : (Bytes)newline - scan->data + 1;
}

static Py_ssize_t line_start(const Scan *scan, Py_ssize_t place)
{
    while (place > scan->floor && scan->data[place - 1] != '\n')
        place--;
    return place;
}

static int keep_line(Sieve *self, Py_ssize_t kept, Py_ssize_t in_block)
{
    if (make_room((void **)&self->lines, &self->line_room, self->line_count, sizeof(Line)) < 0)
        return -1;
    self->lines[self->line_count++] = (Line){kept, in_block};
    return 0;
}

static int keep_statistics(Sieve *self, Py_ssize_t place)
{
    Py_ssize_t *room = &self->statistics_room;
    if (make_room((void **)&self->statistics, room, self->statistics_count, sizeof(Py_ssize_t)) < 0)
        return -1;
    self->statistics[self->statistics_count++] = place;
    return 0;
}

/* Notes lines that hold a text, and statistics lines; at last how much the former are. */
static int note_lines(Sieve *self, Bytes data, Py_ssize_t size)
{
    Scan scan = {.data = data, .size = size, .brace = -1, .severe = -1};
    int is_ais = self->expression >= 0;
    Py_ssize_t text = -1, kept = 0;
    self->line_count = self->statistics_count = 0;
    while (1) {
        if (text < scan.floor)
            text = next_text(&self->index, &scan);
        Py_ssize_t brace = is_ais ? next_brace(&scan) : size, severe = is_ais ? next_severe(&scan) : size;
        Py_ssize_t place = severe < text ? severe : text;
        int is_statistics = brace < place;
        place = is_statistics ? brace : place;
        if (place >= size)
            break;
        Py_ssize_t end = line_end(&scan, place), start = line_start(&scan, place);
        is_statistics = is_statistics && memchr(data + brace, ' ', (size_t)(end - brace)) == NULL;
        if ((is_statistics ? keep_statistics(self, brace + 2) : keep_line(self, kept, start)) < 0)
            return -1;
        kept += is_statistics ? 0 : end - start;
        scan.floor = end;
    }
    self->met += scan.met;
    return keep_line(self, kept, size);
}

/* Chooses words by this block where none are chosen yet, or where those that are were met too often. */
static int look_again(Sieve *self, Bytes data, Py_ssize_t size)
{
    int is_first = self->index.slots == NULL, is_due = is_first || self->read >= self->look;
    int is_bad = is_first || (is_due && self->met > self->read / MET_BYTES);
    if (is_due)
        self->read = self->met = 0;
    self->read += size;
    if (is_bad && self->look < LAST_LOOK)
        self->look *= 2;
    return is_bad ? choose_words(&self->index, data, size) : 0;
}

static PyObject *sieve_lines(Sieve *self, PyObject *block)
{
    Py_buffer view;
    PyObject *kept = NULL;
    if (PyObject_GetBuffer(block, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    self->line_count = self->statistics_count = 0;
    if (look_again(self, view.buf, view.len) == 0 && note_lines(self, view.buf, view.len) == 0)
        kept = PyBytes_FromStringAndSize(NULL, self->lines[self->line_count - 1].kept);
    char *room = kept == NULL ? NULL : PyBytes_AsString(kept);
    for (Py_ssize_t n = 0; room != NULL && n + 1 < self->line_count; n++) {
        const Line *line = &self->lines[n];
        memcpy(room + line->kept, (const char *)view.buf + line->in_block, (size_t)(line[1].kept - line->kept));
    }
    PyBuffer_Release(&view);
    return kept;
}

/* Where a hit stands in the block that ends at a place among the kept lines; `at` is the line of the hit before it. */
static Py_ssize_t in_block(const Sieve *self, Py_ssize_t place, Py_ssize_t *at)
{
    while (*at + 1 < self->line_count && self->lines[*at + 1].kept < place)
        ++*at;
    if (*at + 1 >= self->line_count || place < self->lines[*at].kept)
        return PyErr_SetString(PyExc_ValueError, "hits are not in order, or not in the lines"), -1;
    return place - self->lines[*at].kept + self->lines[*at].in_block;
}

static int append(PyObject *all, Py_ssize_t place, PyObject *number)
{
    PyObject *hit = number == NULL ? NULL : Py_BuildValue("nO", place, number);
    int done = hit == NULL ? -1 : PyList_Append(all, hit);
    Py_XDECREF(hit);
    return done;
}

/* Appends statistics lines up to a place. */
static int append_statistics(const Sieve *self, PyObject *all, Py_ssize_t *at, Py_ssize_t place)
{
    int done = 0;
    PyObject *number = PyLong_FromLong(self->expression);
    for (; done == 0 && *at < self->statistics_count && self->statistics[*at] <= place; ++*at)
        done = append(all, self->statistics[*at], number);
    Py_XDECREF(number);
    return done;
}

static PyObject *sieve_placed(Sieve *self, PyObject *hits)
{
    if (!PyList_Check(hits))
        return PyErr_SetString(PyExc_TypeError, "hits are a list"), NULL;
    Py_ssize_t line = 0, statistics = 0, count = PyList_Size(hits);
    PyObject *all = PyList_New(0);
    for (Py_ssize_t n = 0; all != NULL && n < count; n++) {
        PyObject *hit = PyList_GetItem(hits, n), *end = hit == NULL ? NULL : PyTuple_GetItem(hit, 0);
        PyObject *number = end == NULL ? NULL : PyTuple_GetItem(hit, 1);
        Py_ssize_t place = number == NULL ? -1 : PyLong_AsSsize_t(end);
        place = PyErr_Occurred() ? -1 : in_block(self, place, &line);
        if (place < 0 || append_statistics(self, all, &statistics, place) < 0 || append(all, place, number) < 0)
            Py_CLEAR(all);
    }
    if (all != NULL && append_statistics(self, all, &statistics, PY_SSIZE_T_MAX) < 0)
        Py_CLEAR(all);
    return all;
}

static int take_texts(Sieve *self, PyObject *texts)
{
    Py_ssize_t count = PyTuple_Size(texts), total = 0, size;
    char *text;
    for (Py_ssize_t n = 0; n < count; n++) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(texts, n), &text, &size) < 0)
            return -1;
        if (size < SHORTEST_TEXT || size > LONGEST_TEXT || memchr(text, '\n', (size_t)size) != NULL)
            return PyErr_SetString(PyExc_ValueError, "a text has 3 to 255 bytes and no newline"), -1;
        total += size;
    }
    Index *index = &self->index;
    index->letters = malloc((size_t)total + 1);
    index->texts = malloc((size_t)(count + 1) * sizeof(Text));
    index->words = malloc((size_t)(count + 1) * 4 * sizeof(Word));
    if (index->letters == NULL || index->texts == NULL || index->words == NULL || count > INT32_MAX / 4)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t n = 0, start = 0; n < count; n++, start += size) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(texts, n), &text, &size) < 0)
            return -1;
        memcpy(index->letters + start, text, (size_t)size);
        index->texts[n] = (Text){start, (int)size};
    }
    index->text_count = count;
    return 0;
}

static PyObject *sieve_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *texts;
    long expression;
    if (!PyArg_ParseTuple(args, "O!l", &PyTuple_Type, &texts, &expression))
        return NULL;
    if (!is_scan_runnable())
        return PyErr_SetString(PyExc_RuntimeError, "this processor has no AVX2"), NULL;
    Sieve *self = (Sieve *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    self->expression = expression;
    self->look = FIRST_LOOK / 2;
    if (take_texts(self, texts) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void sieve_free(Sieve *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Index *index = &self->index;
    void *parts[] = {index->letters, index->texts, index->words, index->entries, index->slots, self->lines, self->statistics};
    for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); n++)
        free(parts[n]);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}


static PyMethodDef sieve_methods[] = {
    {"lines", (PyCFunction)sieve_lines, METH_O, "The lines of a block that hold a text, one after the other."},
    {"placed", (PyCFunction)sieve_placed, METH_O, "Hits in what `lines` gave last at their places in its block, with statistics."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot sieve_slots[] = {
    {Py_tp_new, sieve_new},
    {Py_tp_dealloc, sieve_free},
    {Py_tp_methods, sieve_methods},
    {Py_tp_doc, "Texts of which a line must hold one, and the number of the expression for statistics lines, or -1."},
    {0, NULL},
};

PyType_Spec sieve_spec = {"aiscorr.native._native.Sieve", sizeof(Sieve), 0, Py_TPFLAGS_DEFAULT, sieve_slots};
