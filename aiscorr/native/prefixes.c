/* Gives Python the prefixes of lines, and takes the formats by which they are read; None where Python is to read a line. */
#include "prefixes.h"

static PyObject *none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *number_or_none(Number number) { return number.is_there ? PyLong_FromLongLong(number.value) : none(); }

/* A tuple of values, which are taken over, or a named tuple where a type is given; NULL where a value is missing. */
static PyObject *made(const Prefixes *self, PyObject *type, PyObject **values, Py_ssize_t count)
{
    PyObject *fields = PyTuple_New(count);
    for (Py_ssize_t n = 0; n < count; n++)
        if (fields == NULL || values[n] == NULL) {
            Py_XDECREF(values[n]);
            Py_CLEAR(fields);
        } else {
            PyTuple_SetItem(fields, n, values[n]);
        }
    if (fields == NULL || type == NULL)
        return fields;
    PyObject *found = PyObject_CallFunctionObjArgs(self->make, type, fields, NULL);
    Py_DECREF(fields);
    return found;
}

static PyObject *stamp_or_none(const Prefixes *self, const Time *time)
{
    if (!time->is_there)
        return none();
    PyObject *is_year_known = Py_True;
    Py_INCREF(is_year_known);
    PyObject *values[] = {
        PyLong_FromLongLong(time->local_ns), number_or_none((Number){time->has_zone, time->zone_s}), is_year_known,
        number_or_none(time->pid), number_or_none(time->rank), PyLong_FromLongLong(time->end), none(), none(),
    };
    return made(self, self->stamp_type, values, sizeof(values) / sizeof(values[0]));
}

PyObject *word_or_none(const char *word) { return word == NULL ? none() : PyUnicode_InternFromString(word); }

Number pid_of(const Reading *r)
{
    if (r->pid.is_there && r->pid.value != 0)
        return r->pid;
    return r->own.is_there ? r->own.pid : (Number){0, 0};
}

static PyObject *prefix_of(const Prefixes *self, const Reading *r)
{
    PyObject *wrapper = stamp_or_none(self, &r->wrapper);
    if (wrapper == NULL)
        return NULL;
    PyObject *chosen = wrapper, *host = r->host == NULL ? none() : NULL;
    if (r->own.is_there)
        chosen = stamp_or_none(self, &r->own);
    else
        Py_INCREF(chosen);
    if (host == NULL)
        host = PyUnicode_DecodeUTF8((const char *)r->host, r->host_end - r->host, "replace");
    PyObject *values[] = {
        chosen, word_or_none(r->own.is_there ? "own" : r->wrapper.is_there ? "wrapper" : NULL), wrapper,
        number_or_none(r->rank), word_or_none(r->rank_source), number_or_none(r->local_rank),
        number_or_none(r->group_rank), none(), number_or_none(r->task), number_or_none(pid_of(r)), host,
        PyLong_FromSsize_t(r->body_start), PyLong_FromSsize_t(r->message_start),
    };
    return made(self, self->prefix_type, values, sizeof(values) / sizeof(values[0]));
}

/* What was read, and what the years are told of it. */
static PyObject *told(const Prefixes *self, const Reading *r, PyObject *read)
{
    PyObject *values[] = {read, number_or_none(r->near), number_or_none(r->noted)};
    return made(self, NULL, values, 3);
}

/* Opens the reading of a line: 1, 0 where it is too long, -1 with an error set. */
static int open_line(Reading *r, PyObject *given)
{
    char *line;
    Py_ssize_t size;
    return PyBytes_AsStringAndSize(given, &line, &size) < 0 ? -1 : open_reading(r, (Bytes)line, size);
}

static PyObject *last_stamp(Prefixes *self, PyObject *args)
{
    Py_buffer view;
    Py_ssize_t low, end, known;
    Reading r;
    if (!PyArg_ParseTuple(args, "y*nnn", &view, &low, &end, &known))
        return NULL;
    int is_sound = low >= 0 && end <= view.len;
    Py_ssize_t found = is_sound ? last_stamped(self, &r, view.buf, low, end, known) : -1;
    PyObject *answer = NULL;
    if (!is_sound)
        PyErr_SetString(PyExc_ValueError, "the places are not in the text");
    else if (found < 0)
        answer = none();
    else if (found == known || !is_read(&r))
        answer = Py_BuildValue("nO", found, Py_None);
    else
        answer = Py_BuildValue("nN", found, told(self, &r, prefix_of(self, &r)));
    PyBuffer_Release(&view);
    return answer;
}

static PyObject *read_with(Prefixes *self, PyObject *line, int only_stamps)
{
    Reading r;
    int is_open = open_line(&r, line);
    if (is_open > 0)
        read_line(self, &r, only_stamps);
    if (is_open < 0)
        return NULL;
    if (!is_open || !is_read(&r))
        Py_RETURN_NONE;
    return told(self, &r, prefix_of(self, &r));
}

static PyObject *prefixes_read(Prefixes *self, PyObject *line) { return read_with(self, line, 0); }

static PyObject *prefixes_stamps(Prefixes *self, PyObject *line) { return read_with(self, line, 1); }

static PyObject *has_prefix(Prefixes *self, PyObject *line)
{
    Reading r;
    int is_open = open_line(&r, line);
    if (is_open > 0)
        read_line(self, &r, 1);
    if (is_open < 0)
        return NULL;
    if (!is_open || !is_read(&r))
        Py_RETURN_NONE;
    return PyBool_FromLong(r.body_start > 0 || r.message_start > 0);
}

static PyObject *prefixes_owner(Prefixes *self, PyObject *line)
{
    Reading r;
    int is_open = open_line(&r, line);
    if (is_open > 0)
        read_owner(self, &r);
    if (is_open < 0)
        return NULL;
    if (!is_open || !is_read(&r))
        Py_RETURN_NONE;
    PyObject *owner[] = {number_or_none(r.rank), number_or_none(r.local_rank)};
    return told(self, &r, made(self, NULL, owner, 2));
}

/* Whether an owner is not among those known; -1 on error. */
static int is_other(const Prefixes *self, Number rank, Number local_rank, PyObject *known, int takes_nobody)
{
    if (!rank.is_there && !takes_nobody)
        return 1;
    PyObject *values[] = {number_or_none(rank), number_or_none(rank.is_there ? (Number){0, 0} : local_rank)};
    PyObject *owner = made(self, NULL, values, 2);
    int is_known = owner == NULL ? -1 : PySet_Contains(known, owner);
    Py_XDECREF(owner);
    return is_known < 0 ? -1 : !is_known;
}

/* `words`: of which one stands in every line that names a rank. */
static PyObject *last_other(Prefixes *self, PyObject *args)
{
    Py_buffer view;
    Py_ssize_t end;
    PyObject *rank, *known, *words, *found = NULL;
    int takes_nobody;
    if (!PyArg_ParseTuple(args, "y*nOO!pO", &view, &end, &rank, &PySet_Type, &known, &takes_nobody, &words))
        return NULL;
    Number of_file = {rank != Py_None, rank == Py_None ? 0 : PyLong_AsLongLong(rank)}, nobody = {0, 0};
    if (Py_TYPE(words) != ((State *)PyType_GetModuleState(Py_TYPE((PyObject *)self)))->words_type)
        PyErr_SetString(PyExc_TypeError, "Words are wanted");
    int is_bare_other = PyErr_Occurred() ? -1 : is_other(self, of_file, nobody, known, takes_nobody);
    Bytes text = view.buf;
    for (end = end < view.len ? end : view.len; end >= 0 && found == NULL && !PyErr_Occurred();) {
        Py_ssize_t start = start_of_line(text, end), size = end - start;
        Bytes line = text + start;
        int is_wanted = is_bare_other;
        Reading r;
        if (memchr(line, '\x1b', (size_t)size)) {
            is_wanted = 1;
        } else if (holds_word(words, line, size)) {
            is_wanted = memchr(line, '\r', (size_t)size) || !open_reading(&r, line, size);
            if (!is_wanted)
                read_owner(self, &r);
            if (!is_wanted)
                is_wanted = !is_read(&r) || is_other(self, r.rank.is_there ? r.rank : of_file, r.local_rank, known, takes_nobody);
        }
        if (is_wanted)
            found = Py_BuildValue("nn", start, end);
        end = start - 1;
    }
    PyBuffer_Release(&view);
    if (PyErr_Occurred())
        Py_CLEAR(found);
    return found == NULL && !PyErr_Occurred() ? none() : found;
}

/* Where a letter of a word stands that texts have least; they are told from the most frequent on. */
static Py_ssize_t rarest_in(Bytes word, Py_ssize_t size)
{
    static const char frequent[] = " etaoinsrhldcumfpgwybvkxjqz";
    Py_ssize_t best = 0, most = -1;
    for (Py_ssize_t n = 0; n < size; n++) {
        const char *known = memchr(frequent, word[n], sizeof(frequent) - 1);
        Py_ssize_t rank = known == NULL ? (Py_ssize_t)sizeof(frequent) : known - frequent;
        if (rank > most) {
            most = rank;
            best = n;
        }
    }
    return best;
}

static int take_form(Form *form, PyObject *given)
{
    PyObject *code, *sets, *firsts, *words;
    int *g = form->groups;
    if (!PyArg_ParseTuple(given, "OOO(iiiiiii)ppppO!l", &code, &sets, &firsts, &g[0], &g[1], &g[2], &g[3], &g[4], &g[5], &g[6],
                          &form->is_anywhere, &form->is_passed, &form->is_timed, &form->has_rank,
                          &PyTuple_Type, &words, &form->width))
        return -1;
    char *letters;
    if ((form->word_count = PyTuple_Size(words)) > MOST_WORDS)
        return PyErr_SetString(PyExc_ValueError, "a form has eight words at most"), -1;
    for (Py_ssize_t n = 0; n < form->word_count; n++) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, n), &letters, &form->word_sizes[n]) < 0)
            return -1;
        if (form->word_sizes[n] < 1 || form->word_sizes[n] > WORD_SIZE)
            return PyErr_SetString(PyExc_ValueError, "a word has 1 to 32 bytes"), -1;
        memcpy(form->words[n], letters, (size_t)form->word_sizes[n]);
        form->rarest[n] = rarest_in(form->words[n], form->word_sizes[n]);
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
    {"read", (PyCFunction)prefixes_read, METH_O, "The prefix of a line and what the years are told, or None."},
    {"stamps", (PyCFunction)prefixes_stamps, METH_O, "As read, but without ranks."},
    {"has_prefix", (PyCFunction)has_prefix, METH_O, "Whether anything stands in front of the message of a line, or None."},
    {"owner", (PyCFunction)prefixes_owner, METH_O, "Rank and local rank, and what the years are told, or None."},
    {"last_other", (PyCFunction)last_other, METH_VARARGS, "The last line in front of a place that is none of some owners', or None."},
    {"last_stamp", (PyCFunction)last_stamp, METH_VARARGS, "Where the nearest stamped line begins, and as read; or None."},
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
