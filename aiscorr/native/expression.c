/* Matches the expressions of line formats: a walk through code with a step back wherever there is a choice. */
#include "expression.h"

enum { DONE, BYTE, SET, BEGIN, END, BOUNDARY, EITHER, EITHER_LAST, JUMP, SAVE, LOOK, MANY, FEW, OP_COUNT };

/* How many numbers an operation has, itself among them. */
static const int sizes[OP_COUNT] = {1, 2, 2, 1, 1, 2, 2, 2, 2, 2, 4, 5, 5};

static int is_letter(Bytes text, Bytes place, Bytes end)
{
    if (place < text || place >= end)
        return 0;
    unsigned char byte = *place, folded = byte | 0x20;
    return (folded >= 'a' && folded <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

static Bytes run(Matching *m, const int32_t *code, Bytes at);

/* Whether an operation may match at a place, as far as its first byte tells. */
static inline int may_match(const Matching *m, const int32_t *code, Bytes at)
{
    while (code[0] == BOUNDARY || code[0] == SAVE) /* which take no byte */
        code += 2;
    if (code[0] == BYTE)
        return at < m->end && *at == code[1];
    return code[0] != SET || (at < m->end && is_in(m->sets + 32 * code[1], *at));
}

/* What follows a repeat, which begins with a byte of the set that the repeat names, if it names one. */
static Bytes run_behind(Matching *m, const int32_t *repeat, Bytes at)
{
    if (repeat[4] >= 0 && (at >= m->end || !is_in(m->sets + 32 * repeat[4], *at)))
        return NULL;
    return run(m, repeat + sizes[MANY], at);
}

/* A byte of a set as often as there is one, within bounds, and what follows; the most first, or the fewest. */
static Bytes run_repeat(Matching *m, const int32_t *code, Bytes at)
{
    const unsigned char *set = m->sets + 32 * code[1];
    Py_ssize_t low = code[2], high = m->end - at, count = 0;
    high = code[3] < high ? code[3] : high;
    if (code[0] == MANY) {
        while (count < high && is_in(set, at[count]))
            count++;
        for (; count >= low; count--) {
            Bytes found = run_behind(m, code, at + count);
            if (found != NULL)
                return found;
        }
        return NULL;
    }
    while (count < low && count < high && is_in(set, at[count]))
        count++;
    while (count >= low) {
        Bytes found = run_behind(m, code, at + count);
        if (found != NULL)
            return found;
        if (count >= high || !is_in(set, at[count]))
            return NULL;
        count++;
    }
    return NULL;
}

static Bytes run(Matching *m, const int32_t *code, Bytes at)
{
    Bytes found, before;
    while (m->steps++ < MOST_STEPS) {
        switch (code[0]) {
        case DONE:
            return at;
        case BYTE:
            if (at >= m->end || *at != code[1])
                return NULL;
            at++;
            break;
        case SET:
            if (at >= m->end || !is_in(m->sets + 32 * code[1], *at))
                return NULL;
            at++;
            break;
        case BEGIN:
            if (at != m->begin)
                return NULL;
            break;
        case END:
            if (at != m->end && (at != m->end - 1 || *at != '\n'))
                return NULL;
            break;
        case BOUNDARY:
            if ((is_letter(m->begin, at - 1, m->end) != is_letter(m->begin, at, m->end)) != code[1])
                return NULL;
            break;
        case EITHER: /* what follows, else what is at the place told */
            if (may_match(m, code + sizes[EITHER], at) && (found = run(m, code + sizes[EITHER], at)) != NULL)
                return found;
            code += code[1];
            continue;
        case EITHER_LAST: /* the other way round */
            if ((found = run(m, code + code[1], at)) != NULL)
                return found;
            break;
        case JUMP:
            code += code[1];
            continue;
        case SAVE:
            before = m->slots[code[1]];
            m->slots[code[1]] = at;
            if ((found = run(m, code + sizes[SAVE], at)) == NULL)
                m->slots[code[1]] = before;
            return found;
        case LOOK: /* code up to the place told matches here, or so many bytes in front of it; or does not */
            found = at - m->begin >= code[3] ? run(m, code + sizes[LOOK], at - code[3]) : NULL;
            if ((found == NULL) != code[2])
                return NULL;
            code += code[1];
            continue;
        default:
            return run_repeat(m, code, at);
        }
        code += sizes[code[0]];
    }
    return NULL;
}

Bytes match_at(const Expression *expression, Matching *matching, Bytes place)
{
    if (place < matching->end && !is_in(expression->firsts, *place))
        return NULL;
    if (matching->is_used) /* a search that fails leaves slots as they were */
        memset(matching->slots, 0, sizeof(matching->slots));
    matching->sets = expression->sets;
    Bytes found = run(matching, expression->code, place);
    matching->is_used = found != NULL;
    return found;
}

Bytes match_from(const Expression *expression, Matching *matching, Bytes place)
{
    Bytes found = NULL;
    for (; found == NULL && place <= matching->end; place++) {
        while (place < matching->end && !is_in(expression->firsts, *place))
            place++;
        found = match_at(expression, matching, place);
    }
    return found;
}

/* Whether the numbers of an operation are within bounds; `starts` tells where operations begin. */
static int is_sound_at(const int32_t *code, Py_ssize_t at, Py_ssize_t count, Py_ssize_t set_count, const char *starts)
{
    int op = code[at];
    Py_ssize_t target = at + code[at + (sizes[op] > 1)];
    switch (op) {
    case EITHER:
    case EITHER_LAST:
    case JUMP:
        return target >= 0 && target < count && starts[target];
    case LOOK:
        return target > at && target < count && starts[target] && code[at + 3] >= 0;
    case MANY:
    case FEW:
        return code[at + 1] >= 0 && code[at + 1] < set_count && code[at + 2] >= 0 && code[at + 4] < set_count;
    case SET:
        return code[at + 1] >= 0 && code[at + 1] < set_count;
    case SAVE:
        return code[at + 1] >= 0 && code[at + 1] < MOST_SLOTS;
    default:
        return 1;
    }
}

static int is_sound(const int32_t *code, Py_ssize_t count, Py_ssize_t set_count)
{
    char *starts = calloc((size_t)count + 1, 1);
    Py_ssize_t at = 0;
    int is_good = starts != NULL && count > 0 && code[count - 1] == DONE;
    for (; is_good && at < count; at += sizes[code[at]]) {
        is_good = code[at] >= 0 && code[at] < OP_COUNT && at + sizes[code[at]] <= count;
        if (is_good)
            starts[at] = 1;
        else
            break;
    }
    is_good = is_good && at == count && starts[count - 1];
    for (at = 0; is_good && at < count; at += sizes[code[at]])
        is_good = is_sound_at(code, at, count, set_count, starts);
    free(starts);
    return is_good;
}

int take_expression(Expression *expression, PyObject *code, PyObject *sets, PyObject *firsts)
{
    char *parts[3];
    Py_ssize_t counts[3];
    PyObject *given[3] = {code, sets, firsts};
    for (int n = 0; n < 3; n++)
        if (PyBytes_AsStringAndSize(given[n], &parts[n], &counts[n]) < 0)
            return -1;
    expression->code = malloc((size_t)counts[0] + 1);
    expression->sets = malloc((size_t)counts[1] + 1);
    if (expression->code == NULL || expression->sets == NULL)
        return PyErr_NoMemory(), -1;
    memcpy(expression->code, parts[0], (size_t)counts[0]);
    memcpy(expression->sets, parts[1], (size_t)counts[1]);
    if (counts[0] % 4 || counts[1] % 32 || counts[2] != 32 || !is_sound(expression->code, counts[0] / 4, counts[1] / 32))
        return PyErr_SetString(PyExc_ValueError, "the code of an expression is damaged"), -1;
    memcpy(expression->firsts, parts[2], 32);
    return 0;
}

void drop_expression(Expression *expression)
{
    free(expression->code);
    free(expression->sets);
}

typedef struct {
    PyObject_HEAD
    Expression expression;
} Search;

/* Whether a text holds a match; None where Python is to look. */
static PyObject *search_holds(Search *self, PyObject *given)
{
    char *text;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(given, &text, &size) < 0)
        return NULL;
    Matching matching = {(Bytes)text, (Bytes)text + size};
    Bytes end = match_from(&self->expression, &matching, matching.begin);
    return matching.steps >= MOST_STEPS ? Py_NewRef(Py_None) : PyBool_FromLong(end != NULL);
}

static PyObject *search_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *code, *sets, *firsts;
    if (!PyArg_ParseTuple(args, "OOO", &code, &sets, &firsts))
        return NULL;
    Search *self = (Search *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self != NULL && take_expression(&self->expression, code, sets, firsts) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void search_free(Search *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    drop_expression(&self->expression);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMethodDef search_methods[] = {
    {"holds", (PyCFunction)search_holds, METH_O, "Whether a text holds a match; None where Python is to look."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot search_slots[] = {
    {Py_tp_new, search_new},
    {Py_tp_dealloc, search_free},
    {Py_tp_methods, search_methods},
    {Py_tp_doc, "An expression to look for."},
    {0, NULL},
};

PyType_Spec search_spec = {"aiscorr.native._native.Search", sizeof(Search), 0, Py_TPFLAGS_DEFAULT, search_slots};
