/* Settles the lines of worker logs in which an expression fired: which pattern a line is, whose and of when it is, as
 * parse/worker/reader.py does it line by line. What a matching line tells goes into columns, which parse/worker/settled.py
 * turns into rows; a line that is not plain, or of a pattern that changes how lines behind it are read, is left to Python.
 */
#include "prefixes.h"

#define MONTH_NS (31 * 86400 * SECOND_NS)
#define QUARTER_NS (900 * SECOND_NS)

/* What becomes of a line that a pattern matches. NEVER: it may match only inside a traceback. ROW: it is a row. START, FAIL and
 * END: it begins an attempt, is how a rank fails, or ends the attempt; it is a row where that changes nothing (see is_row).
 */
enum { NEVER, ROW, START, FAIL, END, PYTHON };

enum {
    FILE_ID, LINE_NO, BYTE_OFFSET, ATTEMPT_NO, LOCAL_NS, ZONE_OFFSET_S, STAMP_SOURCE, OF_RANK, RANK_SOURCE, OF_LOCAL_RANK,
    GROUP_RANK, OF_TASK, OF_PID, OF_HOST, BODY_START, MESSAGE_START, PATTERN, TEXT, GROUPS, COLUMN_COUNT
};
static const char *const names[COLUMN_COUNT] = {
    "file_id", "line_no", "byte_offset", "attempt_no", "local_ns", "zone_offset_s", "stamp_source", "rank", "rank_source",
    "local_rank", "group_rank", "task", "pid", "host", "body_start", "message_start", "pattern", "text", "groups",
};

typedef struct {
    Expression expression;
    int what, is_coded, group_count, rank_group; /* rank_group: the one that tells the rank, 0 for none */
} Kind;

/* As WorkerState: the latest stamp and where it is, how far stamps were looked for, the first and last time, the program's zone. */
typedef struct {
    Number stamp, zone, first, last, own_zone, near, noted;
    int64_t stamp_offset, searched_offset;
    int is_lone, is_utc;
} Times;

struct Events {
    PyObject_HEAD
    Prefixes *prefixes;
    Kind *kinds;
    Py_ssize_t kind_count, row_count;
    PyObject *columns[COLUMN_COUNT];
    long long file_id, attempt_no;
    Number path_rank, path_local_rank;
    Times times;
    int is_changed, is_tail_taken, is_attempt_over;
    PyObject *started; /* the ranks of lines that say an attempt begins, in order */
};

static int64_t in_quarter_hours(int64_t ns) { return (ns + (ns < 0 ? -QUARTER_NS : QUARTER_NS) / 2) / QUARTER_NS * QUARTER_NS; }

/* Takes note of a stamp, and of a collector's, as WorkerState.note_stamp; 0 where Python is to do it. */
static int note_stamp(Times *times, const Time *stamp, const Time *outer, int64_t offset)
{
    times->stamp = (Number){1, stamp->local_ns};
    times->zone = (Number){stamp->has_zone, stamp->zone_s};
    times->stamp_offset = offset;
    if (offset > times->searched_offset)
        times->searched_offset = offset;
    int is_outer = !stamp->has_zone && outer->is_there && outer->has_zone;
    const Time *chosen = is_outer ? outer : stamp;
    int64_t moment = chosen->local_ns - (chosen->has_zone ? chosen->zone_s * SECOND_NS : 0);
    if (is_outer)
        times->own_zone = (Number){1, in_quarter_hours(stamp->local_ns - moment)};
    else if (!chosen->has_zone && times->own_zone.is_there)
        moment -= times->own_zone.value;
    if (!times->first.is_there || !times->last.is_there || moment < times->first.value - MONTH_NS ||
        moment > times->last.value + MONTH_NS)
        return 0;
    times->is_utc = times->is_utc || chosen->has_zone;
    times->is_lone = times->is_lone && (moment == times->first.value || moment == times->last.value);
    if (moment < times->first.value)
        times->first.value = moment;
    if (moment > times->last.value)
        times->last.value = moment;
    return 1;
}

static const Time *chosen_of(const Reading *r) { return r->own.is_there ? &r->own : &r->wrapper; }

static void tell_years(Times *times, const Reading *r)
{
    times->near = r->near.is_there ? r->near : times->near;
    times->noted = r->noted.is_there ? r->noted : times->noted;
}

/* Finds the nearest stamp in front of a place of a block, as LookBack.find_stamp; 0 where Python is to do it. */
static int find_stamp(const Events *self, Times *times, Bytes block, Py_ssize_t start, int64_t block_offset)
{
    Reading r;
    int64_t low = times->searched_offset - block_offset, known = times->stamp_offset - block_offset;
    Py_ssize_t found = last_stamped(self->prefixes, &r, block, low > 0 ? (Py_ssize_t)low : 0, start, (Py_ssize_t)known);
    if (found < 0 && low < 0)
        return 0; /* it may stand in front of the block */
    if (found >= 0 && found != known) {
        if (!is_read(&r) || !note_stamp(times, chosen_of(&r), &r.wrapper, block_offset + found))
            return 0;
        tell_years(times, &r);
    }
    times->searched_offset = block_offset + start;
    return 1;
}

static PyObject *text_of(Bytes start, Bytes end)
{
    return start == NULL || end == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8((const char *)start, end - start, "replace");
}

static PyObject *groups_of(const Kind *kind, const Matching *matching)
{
    PyObject *groups = PyTuple_New(kind->group_count);
    for (int n = 0; groups != NULL && n < kind->group_count; n++) {
        PyObject *text = text_of(matching->slots[2 * n + 2], matching->slots[2 * n + 3]);
        if (text == NULL || PyTuple_SetItem(groups, n, text) < 0)
            Py_CLEAR(groups);
    }
    return groups;
}

static int add_row(Events *self, const Reading *r, const Times *times, const Kind *kind, const Matching *matching,
                   int64_t line_no, int64_t line_offset)
{
    const char *source = r->own.is_there ? "own" : r->wrapper.is_there ? "wrapper" : NULL;
    if (source == NULL && times->stamp.is_there)
        source = times->stamp_offset <= line_offset ? "before" : "after";
    Number local_ns = times->stamp, rank = r->rank.is_there ? r->rank : self->path_rank;
    if (times->zone.is_there)
        local_ns.value -= times->zone.value * SECOND_NS;
    const char *rank_source = r->rank.is_there ? r->rank_source : rank.is_there ? "file" : NULL;
    PyObject *values[COLUMN_COUNT] = {
        PyLong_FromLongLong(self->file_id), PyLong_FromLongLong(line_no), PyLong_FromLongLong(line_offset),
        PyLong_FromLongLong(self->attempt_no), number_or_none(local_ns), number_or_none(times->zone), word_or_none(source),
        number_or_none(rank), word_or_none(rank_source),
        number_or_none(r->local_rank.is_there ? r->local_rank : self->path_local_rank), number_or_none(r->group_rank),
        number_or_none(r->task), number_or_none(pid_of(r)), text_of(r->host, r->host_end), PyLong_FromSsize_t(r->body_start),
        PyLong_FromSsize_t(r->message_start), PyLong_FromSsize_t(kind - self->kinds), text_of(r->line, r->line + r->size),
        groups_of(kind, matching),
    };
    int done = 0;
    for (int n = 0; n < COLUMN_COUNT; n++) {
        if (values[n] == NULL || (done == 0 && PyList_Append(self->columns[n], values[n]) < 0))
            done = -1;
        Py_XDECREF(values[n]);
    }
    return done;
}

/* Whether all is ASCII, and no traceback is enclosed in a field. */
static int is_simple(Bytes text, Py_ssize_t size)
{
    static const char mark[] = "(most recent call last):\\n";
    unsigned char all = 0;
    for (Py_ssize_t n = 0; n < size; n++)
        all |= text[n];
    Bytes end = text + size;
    for (Bytes at = text; (at = memchr(at, '(', (size_t)(end - at))) != NULL; at++)
        if (end - at >= (Py_ssize_t)sizeof(mark) - 1 && memcmp(at, mark, sizeof(mark) - 1) == 0)
            return 0;
    return all < 128;
}

/* Whether a line of a pattern is a row and nothing more. */
static int is_row(const Events *self, const Kind *kind)
{
    return kind->what == ROW || (kind->what == START && !self->is_attempt_over) || (kind->what == FAIL && self->is_tail_taken) ||
           (kind->what == END && self->is_tail_taken && self->is_attempt_over);
}

/* The rank that a line tells: by its pattern, else by its prefix, else by the name of its file. */
static Number rank_of(const Events *self, const Reading *r, const Kind *kind, const Matching *matching)
{
    Bytes at = matching->slots[2 * kind->rank_group], end = matching->slots[2 * kind->rank_group + 1];
    Number found = {kind->rank_group && at != NULL && end != NULL && end - at < 10, 0};
    for (; found.is_there && at < end; at++) {
        found.is_there = *at >= '0' && *at <= '9';
        found.value = found.value * 10 + (*at - '0');
    }
    return found.is_there ? found : r->rank.is_there ? r->rank : self->path_rank;
}

/* Notes whose line it is that says an attempt begins. */
static int note_start(Events *self, Number rank)
{
    PyObject *number = rank.is_there ? PyLong_FromLongLong(rank.value) : NULL;
    int done = number == NULL ? 0 : PyDict_SetItem(self->started, number, Py_None);
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : done;
}

int take_event(Events *self, Bytes block, Py_ssize_t start, Py_ssize_t size, int64_t line_no, int64_t line_offset,
               int64_t block_offset, const long *numbers, Py_ssize_t count)
{
    Bytes text = block + start;
    Reading r;
    if (size == 0 || text[0] == 0 || text[size - 1] == 0 || memchr(text, '\x1b', (size_t)size) || !open_reading(&r, text, size))
        return 0;
    read_line(self->prefixes, &r, 0);
    if (!is_read(&r) || (r.own.is_there && !r.own.has_zone && r.wrapper.is_there && r.wrapper.has_zone))
        return 0;
    const Kind *kind = NULL;
    Matching matching = {text, text + size};
    for (Py_ssize_t n = 0; n < count && kind == NULL; n++) {
        const Kind *tried = numbers[n] >= 0 && numbers[n] < self->kind_count ? &self->kinds[numbers[n]] : NULL;
        if (tried == NULL || (tried->what != NEVER && !tried->is_coded))
            return 0;
        if (tried->what != NEVER && match_from(&tried->expression, &matching, text) != NULL)
            kind = tried;
        if (matching.steps >= MOST_STEPS)
            return 0;
    }
    if (kind != NULL && (!is_row(self, kind) || !is_simple(text, size)))
        return 0;
    Times times = self->times;
    tell_years(&times, &r);
    if (chosen_of(&r)->is_there ? !note_stamp(&times, chosen_of(&r), &r.wrapper, line_offset)
                                : kind != NULL && !find_stamp(self, &times, block, start, block_offset))
        return 0;
    if (kind != NULL && add_row(self, &r, &times, kind, &matching, line_no, line_offset) < 0)
        return -1;
    if (kind != NULL && kind->what == START && note_start(self, rank_of(self, &r, kind, &matching)) < 0)
        return -1;
    self->row_count += kind != NULL;
    self->times = times;
    self->is_changed = 1;
    return 1;
}

static int to_number(PyObject *given, void *place)
{
    Number *number = place;
    *number = (Number){given != Py_None, given == Py_None ? 0 : PyLong_AsLongLong(given)};
    return !PyErr_Occurred();
}

/* What file the next lines are of, and what is known of its times. */
static PyObject *events_aim(Events *self, PyObject *args)
{
    Times t = {{0, 0}};
    long long stamp_offset, searched_offset;
    if (!PyArg_ParseTuple(args, "LLO&O&O&O&LLO&O&O&pppp", &self->file_id, &self->attempt_no, to_number, &self->path_rank, to_number,
                          &self->path_local_rank, to_number, &t.stamp, to_number, &t.zone, &stamp_offset, &searched_offset,
                          to_number, &t.first, to_number, &t.last, to_number, &t.own_zone, &t.is_lone, &t.is_utc,
                          &self->is_tail_taken, &self->is_attempt_over))
        return NULL;
    t.stamp_offset = stamp_offset;
    t.searched_offset = searched_offset;
    self->times = t;
    self->is_changed = 0;
    self->row_count = 0;
    PyDict_Clear(self->started);
    Py_RETURN_NONE;
}

/* What is known after the lines that were taken: how many rows, ranks that began, times, and what the years are told; None where none was. */
static PyObject *events_told(Events *self, PyObject *unused)
{
    if (!self->is_changed)
        Py_RETURN_NONE;
    const Times *t = &self->times;
    return Py_BuildValue("nONNLLNNNiiNN", self->row_count, self->started, number_or_none(t->stamp), number_or_none(t->zone),
                         (long long)t->stamp_offset, (long long)t->searched_offset, number_or_none(t->first),
                         number_or_none(t->last), number_or_none(t->own_zone), t->is_lone, t->is_utc, number_or_none(t->near), number_or_none(t->noted));
}

static int empty(Events *self)
{
    for (int n = 0; n < COLUMN_COUNT; n++) {
        Py_XDECREF(self->columns[n]);
        if ((self->columns[n] = PyList_New(0)) == NULL)
            return -1;
    }
    return 0;
}

/* The rows by column; there are none afterwards. */
static PyObject *events_take(Events *self, PyObject *unused)
{
    PyObject *all = PyDict_New();
    for (int n = 0; all != NULL && n < COLUMN_COUNT; n++)
        if (PyDict_SetItemString(all, names[n], self->columns[n]) < 0)
            Py_CLEAR(all);
    if (all != NULL && empty(self) < 0)
        Py_CLEAR(all);
    return all;
}

static Py_ssize_t events_length(Events *self) { return PyList_Size(self->columns[0]); }

static int take_kind(Kind *kind, PyObject *given)
{
    PyObject *code, *sets, *firsts;
    if (!PyArg_ParseTuple(given, "iiiOOO", &kind->what, &kind->group_count, &kind->rank_group, &code, &sets, &firsts))
        return -1;
    kind->is_coded = code != Py_None;
    if (kind->group_count < 0 || kind->group_count >= MOST_SLOTS / 2 || kind->rank_group < 0 ||
        kind->rank_group > kind->group_count)
        return PyErr_SetString(PyExc_ValueError, "a pattern has 15 groups at most"), -1;
    return kind->is_coded ? take_expression(&kind->expression, code, sets, firsts) : 0;
}

static PyObject *events_new(PyTypeObject *type, PyObject *args, PyObject *unused)
{
    PyObject *prefixes, *kinds;
    if (!PyArg_ParseTuple(args, "OO!", &prefixes, &PyTuple_Type, &kinds))
        return NULL;
    if (Py_TYPE(prefixes) != ((State *)PyType_GetModuleState(type))->prefixes_type)
        return PyErr_SetString(PyExc_TypeError, "Prefixes are wanted"), NULL;
    Py_ssize_t count = PyTuple_Size(kinds);
    Events *self = (Events *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    self->prefixes = (Prefixes *)Py_NewRef(prefixes);
    int done = (self->started = PyDict_New()) == NULL ? -1 : empty(self);
    if (done == 0 && (self->kinds = calloc((size_t)count + 1, sizeof(Kind))) == NULL)
        PyErr_NoMemory();
    for (; done == 0 && self->kinds != NULL && self->kind_count < count; self->kind_count++) /* a part may be taken */
        done = take_kind(&self->kinds[self->kind_count], PyTuple_GetItem(kinds, self->kind_count));
    if (PyErr_Occurred())
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void events_free(Events *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    for (Py_ssize_t n = 0; n < self->kind_count; n++)
        if (self->kinds[n].is_coded)
            drop_expression(&self->kinds[n].expression);
    free(self->kinds);
    for (int n = 0; n < COLUMN_COUNT; n++)
        Py_XDECREF(self->columns[n]);
    Py_XDECREF(self->started);
    Py_XDECREF((PyObject *)self->prefixes);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef events_methods[] = {
    {"aim", (PyCFunction)events_aim, METH_VARARGS, "Whose lines come next, and what is known of their times."},
    {"told", (PyCFunction)events_told, METH_NOARGS, "What is known after the lines that were taken, or None."},
    {"take", (PyCFunction)events_take, METH_NOARGS, "The rows by column; there are none afterwards."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot events_slots[] = {
    {Py_tp_new, events_new},
    {Py_tp_dealloc, events_free},
    {Py_tp_methods, events_methods},
    {Py_sq_length, events_length},
    {Py_tp_doc, "Patterns, the forms of prefixes, and the rows of lines that were settled."},
    {0, NULL},
};

PyType_Spec events_spec = {"aiscorr.native._native.Events", sizeof(Events), 0, Py_TPFLAGS_DEFAULT, events_slots};
