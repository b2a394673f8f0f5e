/* Which of some words a text holds, found in one pass, and times as ISO 8601 writes them; as __init__.py and
 * parse/stamps.py do it.
 */
#include "native.h"

#define MOST_WORDS 64
#define LONGEST_WORD 64
#define SECOND_NS 1000000000LL

typedef struct {
    PyObject_HEAD
    uint64_t first[256], second[256]; /* the words that have a byte there; a word of one byte has any second one */
    uint64_t single;
    int folds;
    unsigned char lower[256], text[MOST_WORDS][LONGEST_WORD], size[MOST_WORDS];
} Words;

static int add_word(Words *self, int number, PyObject *word)
{
    char *text;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(word, &text, &size) < 0)
        return -1;
    if (size < 1 || size > LONGEST_WORD)
        return PyErr_SetString(PyExc_ValueError, "a word has 1 to 64 bytes"), -1;
    uint64_t bit = (uint64_t)1 << number;
    for (Py_ssize_t at = 0; at < size; at++)
        self->text[number][at] = self->lower[(unsigned char)text[at]];
    self->size[number] = (unsigned char)size;
    for (int byte = 0; byte < 256; byte++) {
        if (self->lower[byte] == self->text[number][0])
            self->first[byte] |= bit;
        if (size > 1 && self->lower[byte] == self->text[number][1])
            self->second[byte] |= bit;
    }
    if (size == 1)
        self->single |= bit;
    return 0;
}

static int stands_at(const Words *self, int number, Bytes text, Py_ssize_t size)
{
    int wanted = self->size[number];
    if (wanted > size)
        return 0;
    for (int at = 0; at < wanted; at++)
        if (self->lower[text[at]] != self->text[number][at])
            return 0;
    return 1;
}

static uint64_t held(const Words *self, Bytes text, Py_ssize_t size)
{
    uint64_t found = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        uint64_t may_be = self->first[text[at]] & ~found;
        if (may_be == 0)
            continue;
        may_be &= (at + 1 < size ? self->second[text[at + 1]] : 0) | self->single;
        for (; may_be != 0; may_be &= may_be - 1) {
            int number = __builtin_ctzll(may_be);
            if (stands_at(self, number, text + at, size - at))
                found |= (uint64_t)1 << number;
        }
    }
    return found;
}

/* Where the first word between two places of a text begins; -1 for none. */
static Py_ssize_t first_word(const Words *self, Bytes text, Py_ssize_t at, Py_ssize_t end)
{
    for (; at < end; at++) {
        uint64_t may_be = self->first[text[at]];
        may_be &= may_be == 0 ? 0 : (at + 1 < end ? self->second[text[at + 1]] : 0) | self->single;
        for (; may_be != 0; may_be &= may_be - 1)
            if (stands_at(self, __builtin_ctzll(may_be), text + at, end - at))
                return at;
    }
    return -1;
}

int holds_word(PyObject *words, Bytes text, Py_ssize_t size) { return first_word((Words *)words, text, 0, size) >= 0; }

static PyObject *first_place(Words *self, PyObject *args)
{
    Py_buffer view;
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(args, "y*nn", &view, &start, &end))
        return NULL;
    Py_ssize_t found = start < 0 ? -1 : first_word(self, view.buf, start, end < view.len ? end : view.len);
    PyBuffer_Release(&view);
    return PyLong_FromSsize_t(found);
}

static PyObject *words_in_bytes(const Words *self, PyObject *object)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    uint64_t found = held(self, view.buf, view.len);
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLongLong(found);
}

/* Letters beyond ASCII, of which some have one of it as their small letter, are left to Python. */
static PyObject *words_in_other_text(const Words *self, PyObject *object)
{
    PyObject *lowered = self->folds ? PyObject_CallMethod(object, "lower", NULL) : Py_NewRef(object);
    PyObject *raw = lowered == NULL ? NULL : PyUnicode_AsEncodedString(lowered, "utf-8", "surrogatepass");
    PyObject *found = raw == NULL ? NULL : words_in_bytes(self, raw);
    Py_XDECREF(lowered);
    Py_XDECREF(raw);
    return found;
}

/* Bit n is the n-th word. */
static PyObject *words_of(Words *self, PyObject *object)
{
    if (!PyUnicode_Check(object))
        return words_in_bytes(self, object);
    Py_ssize_t size, length = PyUnicode_GetLength(object);
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text != NULL && size == length)
        return PyLong_FromUnsignedLongLong(held(self, (Bytes)text, size));
    PyErr_Clear();
    return words_in_other_text(self, object);
}

/* Where the last line between two places begins and ends that holds one of the words, or None; lines begin at the first. */
static PyObject *last_line(Words *self, PyObject *args)
{
    Py_buffer view;
    Py_ssize_t low, end;
    PyObject *found = NULL;
    if (!PyArg_ParseTuple(args, "y*nn", &view, &low, &end))
        return NULL;
    Bytes text = view.buf;
    for (end = end < view.len ? end : view.len; low >= 0 && end >= low && found == NULL;) {
        Py_ssize_t start = start_of_line(text, end);
        if (first_word(self, text, start, end) >= 0)
            found = Py_BuildValue("nn", start, end);
        end = start - 1;
    }
    PyBuffer_Release(&view);
    return found == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : found;
}

static PyObject *words_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *words;
    int folds;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &words, &folds))
        return NULL;
    Py_ssize_t count = PyTuple_Size(words);
    if (count > MOST_WORDS)
        return PyErr_SetString(PyExc_ValueError, "there are more than 64 words"), NULL;
    Words *self = (Words *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self != NULL)
        self->folds = folds;
    for (int byte = 0; self != NULL && byte < 256; byte++)
        self->lower[byte] = (unsigned char)(folds && byte >= 'A' && byte <= 'Z' ? byte + 'a' - 'A' : byte);
    for (int number = 0; self != NULL && number < count; number++)
        if (add_word(self, number, PyTuple_GetItem(words, number)) < 0)
            Py_CLEAR(self);
    return (PyObject *)self;
}

static void words_free(Words *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef words_methods[] = {
    {"of", (PyCFunction)words_of, METH_O, "The words that a text or bytes hold, as bits of a number."},
    {"first_place", (PyCFunction)first_place, METH_VARARGS, "Where the first word between two places begins, or -1."},
    {"last_line", (PyCFunction)last_line, METH_VARARGS, "The last line in front of a place that holds a word, or None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot words_slots[] = {
    {Py_tp_new, words_new},
    {Py_tp_dealloc, words_free},
    {Py_tp_methods, words_methods},
    {Py_tp_doc, "Words to look for, all at once."},
    {0, NULL},
};

PyType_Spec words_spec = {"aiscorr.native._native.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT, words_slots};

/* The number of so many digits; -1 where they are none. */
static int number(Bytes text, int count)
{
    int value = 0;
    for (int at = 0; at < count; at++) {
        if (text[at] < '0' || text[at] > '9')
            return -1;
        value = value * 10 + text[at] - '0';
    }
    return value;
}

/* Days from 1970 to a date; -1 for one that does not exist, or is not of the years 1970 to 2199. */
static int64_t days_to(int year, int month, int day)
{
    static const short before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    int is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1970 || year > 2199 || month < 1 || month > 12 || day < 1)
        return -1;
    if (day > before[month] - before[month - 1] + (is_leap && month == 2))
        return -1;
    int past = year - 1;
    int64_t days = past * 365LL + past / 4 - past / 100 + past / 400 - 719162;
    return days + before[month - 1] + (is_leap && month > 2) + day - 1;
}

int plain_time(Bytes text, Py_ssize_t size, int64_t *found)
{
    if (size < 19 || size > 29 || (text[4] != '-' && text[4] != '/') || (text[7] != '-' && text[7] != '/') ||
        (text[10] != ' ' && text[10] != 'T' && text[10] != '_') || text[13] != ':' || text[16] != ':')
        return 0;
    int64_t days = days_to(number(text, 4), number(text + 5, 2), number(text + 8, 2));
    int hour = number(text + 11, 2), minute = number(text + 14, 2), second = number(text + 17, 2);
    int digits = size > 20 ? (int)size - 20 : 0, part = number(text + 20, digits);
    if (days < 0 || hour < 0 || minute < 0 || second < 0 || part < 0)
        return 0;
    for (; digits < 9; digits++)
        part *= 10;
    int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + (second < 59 ? second : 59);
    *found = seconds * SECOND_NS + part;
    return 1;
}

PyObject *iso_ns(PyObject *module, PyObject *raw)
{
    char *bytes;
    Py_ssize_t size;
    int64_t found;
    if (PyBytes_AsStringAndSize(raw, &bytes, &size) < 0)
        return NULL;
    if (!plain_time((Bytes)bytes, size, &found))
        Py_RETURN_NONE;
    return PyLong_FromLongLong(found);
}
