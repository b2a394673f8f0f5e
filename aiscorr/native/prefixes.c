/* Reads what stands in front of a worker line, as parse/prefixes.py does it, where all of it is plain.
 *
 * Plain are times as ISO 8601 writes them, numbers of up to 18 digits, lines of up to 4096 bytes and no process group;
 * whatever else a line has, None says that Python is to read the line.
 */
#define _GNU_SOURCE /* memmem */
#include "expression.h"

#include <stddef.h>

#define SEARCH_LIMIT 512
#define LINE_LIMIT 4096
#define MOST_WRAPPERS 6
#define MOST_WORDS 8
#define WORD_SIZE 32

/* The groups that are asked for: their numbers in an expression, 0 where it has none of that name. */
enum { ISO, ZONE, PID, RANK, LOCAL_RANK, TASK, HOST, GROUP_COUNT };

typedef struct {
    Expression expression;
    int groups[GROUP_COUNT];
    int is_anywhere, is_passed, is_timed; /* is_passed: the message begins behind it; is_timed: it may tell a time */
    long width;                           /* the most bytes of a match; -1 for no telling */
    Py_ssize_t word_count, word_sizes[MOST_WORDS];
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

/* The digits of a group, where it took part. */
static Number group_number(Reading *r, int group)
{
    Number found = {0, 0};
    Bytes at = group ? r->matching.slots[2 * group] : NULL, end = group ? r->matching.slots[2 * group + 1] : NULL;
    if (at == NULL || end == NULL)
        return found;
    r->is_plain = r->is_plain && end > at && end - at <= 18;
    for (found.is_there = 1; r->is_plain && at < end; at++) {
        r->is_plain = *at >= '0' && *at <= '9';
        found.value = found.value * 10 + (*at - '0');
    }
    return found;
}

/* `Z`, `+09:00`, `-0800` in seconds. */
static void read_zone(Reading *r, Bytes at, Bytes end, Time *time)
{
    Py_ssize_t size = end - at;
    time->has_zone = size > 0;
    if (size == 0 || (size == 1 && (*at == 'Z' || *at == 'z')))
        return;
    int has_colon = size == 6 && at[3] == ':';
    r->is_plain = r->is_plain && (size == 5 || has_colon) && (*at == '+' || *at == '-');
    int64_t digits[4] = {0};
    for (int n = 0; r->is_plain && n < 4; n++) {
        digits[n] = at[1 + n + (n > 1 && has_colon)] - '0';
        r->is_plain = digits[n] >= 0 && digits[n] <= 9;
    }
    time->zone_s = (digits[0] * 10 + digits[1]) * 3600 + (digits[2] * 10 + digits[3]) * 60;
    time->zone_s = *at == '-' ? -time->zone_s : time->zone_s;
}

/* The time of a match; where it is not a plain one, nothing is. */
static Time time_of(Reading *r, const Form *form, Py_ssize_t end)
{
    Time time = {1, 0, 0, end, 0, {0, 0}, {0, 0}};
    int iso = form->groups[ISO], zone = form->groups[ZONE];
    Bytes at = iso ? r->matching.slots[2 * iso] : NULL, past = iso ? r->matching.slots[2 * iso + 1] : NULL;
    if (at == NULL || past == NULL || !plain_time(at, past - at, &time.local_ns)) {
        r->is_plain = 0;
        return time;
    }
    if (zone && r->matching.slots[2 * zone] != NULL && r->matching.slots[2 * zone + 1] != NULL)
        read_zone(r, r->matching.slots[2 * zone], r->matching.slots[2 * zone + 1], &time);
    time.pid = group_number(r, form->groups[PID]);
    time.rank = group_number(r, form->groups[RANK]);
    r->near = (Number){1, time.local_ns};
    return time;
}

static void keep_number(Reading *r, int group, Number *kept)
{
    Number found = group_number(r, group);
    if (found.is_there)
        *kept = found;
}

static void take_wrapper(Reading *r, const Form *form, Py_ssize_t end)
{
    if (form->is_timed && (!form->groups[ISO] || r->matching.slots[2 * form->groups[ISO]] != NULL)) {
        Time time = time_of(r, form, end);
        if (time.has_zone || !(r->wrapper.is_there && r->wrapper.has_zone)) {
            r->noted = (Number){1, time.local_ns};
            r->wrapper = time;
        }
    }
    keep_number(r, form->groups[RANK], &r->wrapped_rank);
    keep_number(r, form->groups[LOCAL_RANK], &r->local_rank);
    keep_number(r, form->groups[TASK], &r->task);
    keep_number(r, form->groups[PID], &r->pid);
    int host = form->groups[HOST];
    if (host && r->matching.slots[2 * host] != NULL && r->matching.slots[2 * host + 1] != NULL) {
        r->host = r->matching.slots[2 * host];
        r->host_end = r->matching.slots[2 * host + 1];
    }
    r->wrapped_end += end;
}

/* Where the line holds one of a form's words; NULL for none. */
static Bytes word_of(const Reading *r, const Form *form)
{
    Bytes found = form->word_count ? NULL : r->lower;
    for (Py_ssize_t n = 0; n < form->word_count && found == NULL; n++)
        found = memmem(r->lower, (size_t)r->size, form->words[n], (size_t)form->word_sizes[n]);
    return found;
}

/* Where a match in a stretch of the line ends, counted from the stretch's beginning; -1 for none. */
static Py_ssize_t match_in(Reading *r, const Form *form, Py_ssize_t from, Py_ssize_t limit)
{
    if (form->is_anywhere && word_of(r, form) == NULL)
        return -1;
    r->matching.begin = r->line + from;
    r->matching.end = r->line + (r->size - from > limit ? from + limit : r->size);
    Bytes end = form->is_anywhere ? match_from(&form->expression, &r->matching, r->matching.begin)
                                  : match_at(&form->expression, &r->matching, r->matching.begin);
    return end == NULL ? -1 : end - r->matching.begin;
}

static void unwrap(const Prefixes *self, Reading *r)
{
    for (int round = 0; round < MOST_WRAPPERS && r->is_plain; round++) {
        Py_ssize_t end = -1;
        for (Py_ssize_t n = 0; n < self->wrapper_count && end < 0; n++)
            if ((end = match_in(r, &self->forms[n], r->wrapped_end, SEARCH_LIMIT)) >= 0)
                take_wrapper(r, &self->forms[n], end);
        if (end < 0)
            break;
    }
}

static void read_stamp(const Prefixes *self, Reading *r)
{
    for (Py_ssize_t n = self->wrapper_count; n < self->wrapper_count + self->stamp_count; n++) {
        const Form *form = &self->forms[n];
        Py_ssize_t end = match_in(r, form, r->message_start, 2 * SEARCH_LIMIT);
        if (end < 0)
            continue;
        r->own = time_of(r, form, end);
        if (!r->own.has_zone)
            r->noted = (Number){1, r->own.local_ns};
        r->message_start += form->is_passed ? end : 0;
        return;
    }
}

/* Whether a form of ranks matches anywhere in the first bytes of the line. */
static int is_found(Reading *r, const Form *form, Py_ssize_t limit)
{
    Bytes word = word_of(r, form);
    if (word == NULL)
        return 0;
    /* the only word there is stands in the match, so that begins no further in front of it than a match is wide */
    int is_near = form->word_count == 1 && form->width >= 0 && word - r->lower > form->width;
    Py_ssize_t start = is_near ? word - r->lower - form->width : 0;
    limit = r->size < limit ? r->size : limit;
    r->matching.begin = r->line;
    r->matching.end = r->line + limit;
    return start <= limit && match_from(&form->expression, &r->matching, r->line + start) != NULL;
}

/* The rank by a tag in the line, the stamp, a wrapper, or another form of ranks. */
static void read_late_rank(Reading *r, const Form *tag, const Form *fields, Py_ssize_t count)
{
    if (is_found(r, tag, LINE_LIMIT)) {
        r->rank = group_number(r, tag->groups[RANK]);
        r->rank_source = "tag";
        return;
    }
    r->rank = r->own.is_there && r->own.rank.is_there ? r->own.rank : r->wrapped_rank;
    for (Py_ssize_t n = 0; n < count && !r->rank.is_there; n++) {
        if (!is_found(r, &fields[n], SEARCH_LIMIT))
            continue;
        for (int group = 1; group < MOST_SLOTS / 2 && !r->rank.is_there; group++)
            r->rank = group_number(r, group);
        r->is_plain = r->is_plain && r->rank.is_there;
    }
    r->rank_source = r->rank.is_there ? "field" : NULL;
}

static void read_line(const Prefixes *self, Reading *r, int only_stamps)
{
    const Form *tag = &self->forms[self->wrapper_count + self->stamp_count];
    for (Py_ssize_t n = 0; n < r->size; n++)
        r->lower[n] = r->line[n] | (unsigned char)((unsigned char)(r->line[n] - 'A') < 26 ? 0x20 : 0);
    unwrap(self, r);
    r->body_start = r->message_start = r->wrapped_end;
    r->matching.begin = r->line;
    r->matching.end = r->line + r->size;
    Bytes end = match_at(&tag->expression, &r->matching, r->line + r->wrapped_end);
    if (end != NULL) {
        r->rank = group_number(r, tag->groups[RANK]);
        r->rank_source = "tag";
        r->body_start = end - r->line;
        r->body_start += r->body_start < r->size && r->line[r->body_start] == ' ';
        r->message_start = r->body_start;
        while (r->message_start < r->size && r->line[r->message_start] == ' ')
            r->message_start++;
    }
    read_stamp(self, r);
    if (only_stamps || !r->is_plain)
        return;
    if (end == NULL)
        read_late_rank(r, tag, tag + 3, self->forms + self->count - (tag + 3));
    if (is_found(r, tag + 1, SEARCH_LIMIT))
        r->is_plain = 0;
    else if (is_found(r, tag + 2, SEARCH_LIMIT))
        r->group_rank = group_number(r, tag[2].groups[RANK]);
}

static PyObject *number_or_none(Number number)
{
    if (number.is_there)
        return PyLong_FromLongLong(number.value);
    Py_RETURN_NONE;
}

/* A named tuple of values, which are taken over. */
static PyObject *made(const Prefixes *self, PyObject *type, PyObject *values)
{
    PyObject *found = values == NULL ? NULL : PyObject_CallFunctionObjArgs(self->make, type, values, NULL);
    Py_XDECREF(values);
    return found;
}

static PyObject *stamp_or_none(const Prefixes *self, const Time *time)
{
    if (!time->is_there)
        Py_RETURN_NONE;
    Number zone = {time->has_zone, time->zone_s};
    return made(self, self->stamp_type,
                Py_BuildValue("(LNONNLOO)", (long long)time->local_ns, number_or_none(zone), Py_True,
                              number_or_none(time->pid), number_or_none(time->rank), (long long)time->end, Py_None, Py_None));
}

static PyObject *prefix_of(const Prefixes *self, const Reading *r)
{
    PyObject *wrapper = stamp_or_none(self, &r->wrapper), *host = Py_None, *chosen = wrapper;
    if (r->own.is_there)
        chosen = stamp_or_none(self, &r->own);
    else
        Py_XINCREF(chosen);
    if (r->host != NULL)
        host = PyUnicode_DecodeUTF8((const char *)r->host, r->host_end - r->host, "replace");
    else
        Py_INCREF(host);
    Number pid = r->pid;
    if (!pid.is_there || pid.value == 0)
        pid = r->own.is_there ? r->own.pid : (Number){0, 0};
    const char *source = r->own.is_there ? "own" : r->wrapper.is_there ? "wrapper" : NULL;
    return made(self, self->prefix_type,
                Py_BuildValue("(NzNNzNNONNNnn)", chosen, source, wrapper, number_or_none(r->rank), r->rank_source,
                              number_or_none(r->local_rank), number_or_none(r->group_rank), Py_None,
                              number_or_none(r->task), number_or_none(pid), host, r->body_start, r->message_start));
}

static PyObject *prefixes_read(Prefixes *self, PyObject *args)
{
    Reading r;
    char *line;
    int only_stamps;
    PyObject *given;
    if (!PyArg_ParseTuple(args, "Op", &given, &only_stamps) || PyBytes_AsStringAndSize(given, &line, &r.size) < 0)
        return NULL;
    memset(&r, 0, offsetof(Reading, size));
    r.line = (Bytes)line;
    r.is_plain = 1;
    if (r.size > LINE_LIMIT)
        Py_RETURN_NONE;
    read_line(self, &r, only_stamps);
    if (!r.is_plain || r.matching.steps >= MOST_STEPS)
        Py_RETURN_NONE;
    return Py_BuildValue("(NNN)", prefix_of(self, &r), number_or_none(r.near), number_or_none(r.noted));
}

static int take_form(Form *form, PyObject *given)
{
    PyObject *code, *sets, *firsts, *words;
    int *g = form->groups;
    if (!PyArg_ParseTuple(given, "OOO(iiiiiii)pppO!l", &code, &sets, &firsts, &g[0], &g[1], &g[2], &g[3], &g[4], &g[5], &g[6],
                          &form->is_anywhere, &form->is_passed, &form->is_timed, &PyTuple_Type, &words, &form->width))
        return -1;
    char *letters;
    if ((form->word_count = PyTuple_Size(words)) > MOST_WORDS)
        return PyErr_SetString(PyExc_ValueError, "a form has eight words at most"), -1;
    for (Py_ssize_t n = 0; n < form->word_count; n++) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, n), &letters, &form->word_sizes[n]) < 0)
            return -1;
        if (form->word_sizes[n] > WORD_SIZE)
            return PyErr_SetString(PyExc_ValueError, "a word has 32 bytes at most"), -1;
        memcpy(form->words[n], letters, (size_t)form->word_sizes[n]);
    }
    for (int n = 0; n < GROUP_COUNT; n++)
        if (g[n] < 0 || g[n] >= MOST_SLOTS / 2)
            return PyErr_SetString(PyExc_ValueError, "a group has a number from 0 to 15"), -1;
    return take_expression(&form->expression, code, sets, firsts);
}

static PyObject *prefixes_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *forms, *prefix_type, *stamp_type, *make;
    Py_ssize_t wrapper_count, stamp_count;
    if (!PyArg_ParseTuple(args, "O!nnOOO", &PyTuple_Type, &forms, &wrapper_count, &stamp_count, &prefix_type, &stamp_type,
                          &make))
        return NULL;
    Py_ssize_t count = PyTuple_Size(forms);
    if (wrapper_count < 0 || stamp_count < 0 || wrapper_count > count || count - wrapper_count - stamp_count < 3)
        return PyErr_SetString(PyExc_ValueError, "forms are missing"), NULL;
    Prefixes *self = (Prefixes *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    self->wrapper_count = wrapper_count;
    self->stamp_count = stamp_count;
    Py_INCREF(self->prefix_type = prefix_type);
    Py_INCREF(self->stamp_type = stamp_type);
    Py_INCREF(self->make = make);
    if ((self->forms = calloc((size_t)count, sizeof(Form))) == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (; self->count < count; self->count++)
        if (take_form(&self->forms[self->count], PyTuple_GetItem(forms, self->count)) < 0) {
            self->count++; /* of which a part may be taken */
            Py_DECREF(self);
            return NULL;
        }
    return (PyObject *)self;
}

static void prefixes_free(Prefixes *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    for (Py_ssize_t n = 0; n < self->count; n++)
        drop_expression(&self->forms[n].expression);
    free(self->forms);
    Py_XDECREF(self->prefix_type);
    Py_XDECREF(self->stamp_type);
    Py_XDECREF(self->make);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef prefixes_methods[] = {
    {"read", (PyCFunction)prefixes_read, METH_VARARGS, "The prefix of a line and what the years are told, or None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot prefixes_slots[] = {
    {Py_tp_new, prefixes_new},
    {Py_tp_dealloc, prefixes_free},
    {Py_tp_methods, prefixes_methods},
    {Py_tp_doc, "Forms of wrappers, stamps and ranks, and the types of what is read."},
    {0, NULL},
};

PyType_Spec prefixes_spec = {"aiscorr.native._native.Prefixes", sizeof(Prefixes), 0, Py_TPFLAGS_DEFAULT, prefixes_slots};
