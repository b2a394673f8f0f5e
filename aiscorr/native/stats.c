/* Statistics lines of AIStore, whole and well formed, to columns of names and values, as parse/ais/counters.py and
 * AisFile do; the number that a name has in the columns is found by the name that stood in front of it last time.
 */
#include "swift.h"

/* Bytes behind the letters of all names, so that eight can be read at each. */
#define SPARE 8
#define DAY_NS (86400 * SECOND_NS)
#define JITTER_NS (10 * SECOND_NS)

typedef struct {
    int64_t local_ns, byte_offset, line_no;
    int32_t file_id, process_no, name_count;
    char is_complete;
} StatsLine;

typedef struct {
    Py_ssize_t start;
    int32_t size, next; /* next: the name that followed this one last time */
} Name;

struct Stats {
    PyObject_HEAD
    StatsLine *lines;
    int32_t *ids;
    int64_t *values;
    Name *names;
    int32_t *slots; /* of the hash table: number of a name + 1, or 0 */
    unsigned char *letters;
    Py_ssize_t line_count, line_room, pair_count, pair_room, name_count, name_room, slot_count, letter_count, letter_room;
    uint32_t seed;
    int32_t file_id, process_no, first_name; /* first_name: that of the line before, -1 for none */
    int64_t day_ns, last_ns, latest_ns;
    Py_ssize_t told_lines, told_pairs, taken; /* how many there were when `aim` was called; lines taken since */
    int takes_info, is_ended;
};

static int grow(void **items, Py_ssize_t *room, Py_ssize_t wanted, size_t item_size)
{
    if (wanted <= *room)
        return 0;
    Py_ssize_t more = *room < 1024 ? 1024 : *room;
    while (more < wanted) {
        if (more > PY_SSIZE_T_MAX / 2 / (Py_ssize_t)item_size)
            return PyErr_NoMemory(), -1;
        more *= 2;
    }
    void *found = realloc(*items, (size_t)more * item_size);
    if (found == NULL)
        return PyErr_NoMemory(), -1;
    *items = found;
    *room = more;
    return 0;
}

static uint32_t hash_of(uint32_t seed, Bytes text, Py_ssize_t size)
{
    uint32_t hash = seed ^ 2166136261u;
    for (Py_ssize_t at = 0; at < size; at++)
        hash = (hash ^ text[at]) * 16777619u;
    return hash ^ (hash >> 15);
}

static int is_name(const Stats *self, int32_t id, Bytes text, Py_ssize_t size)
{
    const Name *name = &self->names[id];
    return name->size == size && memcmp(self->letters + name->start, text, (size_t)size) == 0;
}

static int spread(Stats *self)
{
    Py_ssize_t count = self->slot_count ? self->slot_count * 2 : 1024;
    int32_t *slots = calloc((size_t)count, sizeof(int32_t));
    if (slots == NULL)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t id = 0; id < self->name_count; id++) {
        const Name *name = &self->names[id];
        size_t slot = hash_of(self->seed, self->letters + name->start, name->size) & (size_t)(count - 1);
        while (slots[slot])
            slot = (slot + 1) & (size_t)(count - 1);
        slots[slot] = (int32_t)id + 1;
    }
    free(self->slots);
    self->slots = slots;
    self->slot_count = count;
    return 0;
}

/* The number of a name, which is new where it was not met since the columns were taken; -1 with an error set. */
static int32_t id_of(Stats *self, Bytes text, Py_ssize_t size)
{
    if (self->name_count * 2 >= self->slot_count && spread(self) < 0)
        return -1;
    size_t mask = (size_t)(self->slot_count - 1), slot = hash_of(self->seed, text, size) & mask;
    for (; self->slots[slot]; slot = (slot + 1) & mask)
        if (is_name(self, self->slots[slot] - 1, text, size))
            return self->slots[slot] - 1;
    if (grow((void **)&self->names, &self->name_room, self->name_count + 1, sizeof(Name)) < 0 ||
        grow((void **)&self->letters, &self->letter_room, self->letter_count + size + SPARE, 1) < 0)
        return -1;
    memcpy(self->letters + self->letter_count, text, (size_t)size);
    self->names[self->name_count] = (Name){self->letter_count, (int32_t)size, -1};
    self->letter_count += size;
    self->slots[slot] = (int32_t)++self->name_count;
    return (int32_t)self->name_count - 1;
}

static int is_name_letter(unsigned char letter)
{
    return letter > ' ' && letter < 0x7f && letter != ',' && letter != ':';
}

/* The size of the name at a place, 0 where none is. */
static Py_ssize_t name_at(Bytes text, Py_ssize_t size)
{
    Py_ssize_t at = 0;
    while (at < size && is_name_letter(text[at]))
        at++;
    return at;
}

/* The name that stood behind another one last time (behind -1: first in a line), where it does again with a colon; or -1. */
static int32_t expected(const Stats *self, int32_t before, Bytes text, Py_ssize_t size)
{
    int32_t id = before >= 0 ? self->names[before].next : self->first_name;
    if (id < 0)
        return -1;
    const Name *name = &self->names[id];
    if (name->size >= size || text[name->size] != ':' || !begins_with(text, size, self->letters + name->start, name->size))
        return -1;
    return id;
}

/* The number of the name of the pair at a place, whose size goes to `*name_size`; -1 where no name and colon are, -2 on error. */
static int32_t name_of_pair(Stats *self, int32_t before, Bytes text, Py_ssize_t size, Py_ssize_t *name_size)
{
    int32_t id = expected(self, before, text, size);
    if (id >= 0) {
        *name_size = self->names[id].size;
        return id;
    }
    *name_size = name_at(text, size);
    if (*name_size == 0 || *name_size >= size || text[*name_size] != ':')
        return -1;
    if ((id = id_of(self, text, *name_size)) < 0)
        return -2;
    *(before >= 0 ? &self->names[before].next : &self->first_name) = id;
    return id;
}

/* Takes name:integer pairs with commas between; returns how many, 0 where the text is not exactly that, -1 on error. */
static Py_ssize_t add_pairs(Stats *self, Bytes text, Py_ssize_t size)
{
    Py_ssize_t at = 0, first = self->pair_count, name_size;
    int32_t id = -1;
    if (size > INT32_MAX)
        return 0;
    while ((id = name_of_pair(self, id, text + at, size - at, &name_size)) >= 0) {
        int64_t value;
        at += name_size + 1;
        int is_negative = at < size && text[at] == '-';
        at += is_negative;
        Py_ssize_t digits = number_at(text + at, size - at, &value);
        at += digits;
        if (digits == 0 || (at < size && text[at] != ','))
            break;
        if (self->pair_count == self->pair_room) {
            Py_ssize_t room = self->pair_room;
            if (grow((void **)&self->ids, &room, self->pair_count + 1, sizeof(int32_t)) < 0 ||
                grow((void **)&self->values, &self->pair_room, self->pair_count + 1, sizeof(int64_t)) < 0)
                return self->pair_count = first, -1;
        }
        self->ids[self->pair_count] = id;
        self->values[self->pair_count++] = is_negative ? -value : value;
        if (at++ == size)
            return self->pair_count - first;
    }
    self->pair_count = first;
    return id == -2 ? -1 : 0;
}

static int add_line(Stats *self, StatsLine line)
{
    if (grow((void **)&self->lines, &self->line_room, self->line_count + 1, sizeof(StatsLine)) < 0)
        return -1;
    self->lines[self->line_count++] = line;
    return 0;
}

/* Nanoseconds since midnight of a line that begins with `I 23:05:55.123456 `; -1 for another line. */
static int64_t info_time(Bytes text, Py_ssize_t size)
{
    return size >= 18 && text[0] == 'I' && text[1] == ' ' ? time_of_day(text + 2, size - 2) : -1;
}

/* Whether the clock goes on to that time without a jump or midnight, which are for Python to judge. */
static int is_next(const Stats *self, int64_t of_day)
{
    int64_t moment = self->day_ns + of_day;
    return moment >= self->last_ns - JITTER_NS && (moment - self->last_ns <= DAY_NS - JITTER_NS || of_day <= DAY_NS - JITTER_NS);
}

static void note_time(Stats *self, int64_t moment)
{
    self->last_ns = moment;
    if (moment > self->latest_ns)
        self->latest_ns = moment;
    self->taken++;
}

static int take_stats(Stats *self, Bytes text, Py_ssize_t size, int64_t moment, int64_t line_no, int64_t byte_offset)
{
    Py_ssize_t pairs = add_pairs(self, text + 19, size - 20);
    if (pairs <= 0)
        return (int)pairs;
    StatsLine line = {moment, byte_offset, line_no, self->file_id, self->process_no, (int32_t)pairs, 1};
    if (add_line(self, line) < 0)
        return self->pair_count -= pairs, -1;
    note_time(self, moment);
    return 1;
}

/* Whether the record is alone in its line and no hourly marker: nothing behind its time looks like ` =====` or a time. */
static int is_alone(Bytes text, Py_ssize_t size)
{
    for (Py_ssize_t at = 18; at < size; at++) {
        unsigned char letter = text[at];
        if (letter == '=' && size - at >= 5 && text[at - 1] == ' ' && memcmp(text + at, "=====", 5) == 0)
            return 0;
        if ((letter == 'I' || letter == 'W' || letter == 'E') && size - at >= 4 && text[at + 1] == ' ' &&
            is_digit(text[at + 2]) && is_digit(text[at + 3]))
            return 0;
    }
    return 1;
}

int take_line(Stats *self, Bytes text, Py_ssize_t size, int64_t line_no, int64_t byte_offset, int ends_record, int is_plain)
{
    while (size && text[0] == 0)
        text++, size--;
    while (size && text[size - 1] == 0)
        size--;
    int64_t of_day = info_time(text, size);
    if (of_day < 0 || !is_next(self, of_day))
        return 0;
    int taken = 0;
    if (size >= 23 && text[18] == '{' && text[size - 1] == '}') {
        taken = take_stats(self, text, size, self->day_ns + of_day, line_no, byte_offset);
    } else if (ends_record && is_plain && self->takes_info && (size == 18 || text[18] != '{') && is_alone(text, size)) {
        note_time(self, self->day_ns + of_day);
        taken = 1;
    }
    self->is_ended |= taken > 0 && ends_record;
    return taken;
}

static PyObject *stats_aim(Stats *self, PyObject *args)
{
    long long day_ns, last_ns;
    if (!PyArg_ParseTuple(args, "iiLLp", &self->file_id, &self->process_no, &day_ns, &last_ns, &self->takes_info))
        return NULL;
    self->day_ns = day_ns;
    self->last_ns = self->latest_ns = last_ns;
    self->told_lines = self->line_count;
    self->told_pairs = self->pair_count;
    self->taken = self->is_ended = 0;
    Py_RETURN_NONE;
}

static PyObject *stats_told(Stats *self, PyObject *unused)
{
    if (self->taken == 0)
        Py_RETURN_NONE;
    return Py_BuildValue("nnLLN", self->line_count - self->told_lines, self->pair_count - self->told_pairs,
                         (long long)self->last_ns, (long long)self->latest_ns, PyBool_FromLong(self->is_ended));
}

static PyObject *stats_add(Stats *self, PyObject *args)
{
    Py_buffer body;
    long long line_no, local_ns, byte_offset;
    int file_id, process_no, is_complete;
    if (!PyArg_ParseTuple(args, "y*iLiLLp", &body, &file_id, &line_no, &process_no, &local_ns, &byte_offset, &is_complete))
        return NULL;
    Py_ssize_t pairs = body.len ? add_pairs(self, body.buf, body.len) : 0;
    int is_bad = body.len && pairs == 0;
    PyBuffer_Release(&body);
    if (is_bad)
        return PyErr_SetString(PyExc_ValueError, "pairs that are not name:integer"), NULL;
    StatsLine line = {local_ns, byte_offset, line_no, file_id, process_no, (int32_t)pairs, (char)is_complete};
    if (pairs < 0 || add_line(self, line) < 0)
        return NULL;
    return PyLong_FromSsize_t(pairs);
}

/* Also names of lines that were refused in the end count: they take room until the columns are taken. */
static Py_ssize_t stats_length(PyObject *object)
{
    const Stats *self = (const Stats *)object;
    return self->pair_count + self->line_count + self->name_count;
}

#define COLUMN(name, type, count, expression)                                                                          \
    do {                                                                                                               \
        PyObject *found = PyBytes_FromStringAndSize(NULL, (count) * (Py_ssize_t)sizeof(type));                         \
        if (found == NULL || PyDict_SetItemString(columns, name, found) < 0) {                                         \
            Py_XDECREF(found);                                                                                         \
            goto failed;                                                                                               \
        }                                                                                                              \
        char *room = PyBytes_AsString(found);                                                                          \
        for (Py_ssize_t n = 0; n < (count); n++) {                                                                     \
            type value = (expression);                                                                                 \
            memcpy(room + n * (Py_ssize_t)sizeof(type), &value, sizeof(type));                                         \
        }                                                                                                              \
        Py_DECREF(found);                                                                                              \
    } while (0)

/* All columns as bytes, under their names; `name` are numbers into the list `names`. Nothing is left afterwards. */
static PyObject *stats_take(Stats *self, PyObject *unused)
{
    PyObject *columns = PyDict_New(), *names = PyList_New(self->name_count);
    if (columns == NULL || names == NULL)
        goto failed;
    for (Py_ssize_t n = 0; n < self->name_count; n++) {
        const Name *name = &self->names[n];
        PyObject *text = PyUnicode_FromStringAndSize((const char *)self->letters + name->start, name->size);
        if (text == NULL || PyList_SetItem(names, n, text) < 0)
            goto failed;
    }
    if (PyDict_SetItemString(columns, "names", names) < 0)
        goto failed;
    COLUMN("file_id", int32_t, self->line_count, self->lines[n].file_id);
    COLUMN("line_no", int64_t, self->line_count, self->lines[n].line_no);
    COLUMN("byte_offset", int64_t, self->line_count, self->lines[n].byte_offset);
    COLUMN("process_no", int32_t, self->line_count, self->lines[n].process_no);
    COLUMN("local_ns", int64_t, self->line_count, self->lines[n].local_ns);
    COLUMN("name_count", int32_t, self->line_count, self->lines[n].name_count);
    COLUMN("is_complete", int8_t, self->line_count, self->lines[n].is_complete);
    COLUMN("name", int32_t, self->pair_count, self->ids[n]);
    COLUMN("value", int64_t, self->pair_count, self->values[n]);
    Py_DECREF(names);
    self->line_count = self->pair_count = self->name_count = self->letter_count = 0;
    self->told_lines = self->told_pairs = 0;
    self->first_name = -1;
    memset(self->slots, 0, (size_t)self->slot_count * sizeof(int32_t));
    return columns;
failed:
    Py_XDECREF(columns);
    Py_XDECREF(names);
    return NULL;
}

static PyObject *stats_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Stats *self = (Stats *)make(type, 0);
    if (self != NULL) {
        self->first_name = -1;
        self->seed = (uint32_t)((uintptr_t)self >> 4);
        if (spread(self) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static void stats_free(Stats *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    void *parts[] = {self->lines, self->ids, self->values, self->names, self->slots, self->letters};
    for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); n++)
        free(parts[n]);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef stats_methods[] = {
    {"aim", (PyCFunction)stats_aim, METH_VARARGS, "The file, the run of the daemon and the clock of the lines to come."},
    {"told", (PyCFunction)stats_told, METH_NOARGS,
     "Lines and pairs since `aim`, the last moment and the latest, whether the record before is over; None for nothing."},
    {"add", (PyCFunction)stats_add, METH_VARARGS, "One line by its parts; returns how many pairs it has."},
    {"take", (PyCFunction)stats_take, METH_NOARGS, "The columns, which are empty afterwards."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot stats_slots[] = {
    {Py_tp_new, stats_new},
    {Py_tp_dealloc, stats_free},
    {Py_tp_methods, stats_methods},
    {Py_sq_length, stats_length},
    {Py_tp_doc, "Columns of statistics lines of any number of files."},
    {0, NULL},
};

PyType_Spec stats_spec = {"aiscorr.native._native.Stats", sizeof(Stats), 0, Py_TPFLAGS_DEFAULT, stats_slots};
