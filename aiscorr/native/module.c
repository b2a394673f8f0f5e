/* The module: its types, and functions that count newlines and turn rows to columns. */
#include "native.h"

/* Raise together with VERSION in __init__.py when a name, an argument or a result changes. */
#define VERSION 7

static PyObject *count_newlines(PyObject *module, PyObject *args)
{
    Py_buffer view;
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(args, "y*nn", &view, &start, &end))
        return NULL;
    start = start < 0 ? 0 : start;
    end = end > view.len ? view.len : end;
    Py_ssize_t count = end > start ? newlines((Bytes)view.buf + start, end - start) : 0;
    PyBuffer_Release(&view);
    return PyLong_FromSsize_t(count);
}

/* Lists of so many None; NULL with an error set. */
static PyObject *empty_columns(Py_ssize_t column_count, Py_ssize_t row_count)
{
    PyObject *all = PyList_New(column_count);
    for (Py_ssize_t n = 0; all != NULL && n < column_count; n++) {
        PyObject *values = PyList_New(row_count);
        for (Py_ssize_t row = 0; values != NULL && row < row_count; row++) {
            Py_INCREF(Py_None);
            PyList_SetItem(values, row, Py_None);
        }
        if (values == NULL || PyList_SetItem(all, n, values) < 0)
            Py_CLEAR(all);
    }
    return all;
}

/* Puts the values of a row in their columns, whose numbers are known by their names, and notes which columns have any. */
static int place_row(PyObject *row, Py_ssize_t at, PyObject *numbers, PyObject *all, char *is_used)
{
    PyObject *name, *value;
    Py_ssize_t place = 0;
    if (row == NULL || !PyDict_Check(row))
        return PyErr_SetString(PyExc_TypeError, "rows are dictionaries"), -1;
    while (PyDict_Next(row, &place, &name, &value)) {
        PyObject *number = value == Py_None ? NULL : PyDict_GetItemWithError(numbers, name);
        if (number == NULL) {
            if (PyErr_Occurred())
                return -1;
            continue;
        }
        Py_ssize_t column = PyLong_AsSsize_t(number);
        is_used[column] = 1;
        Py_INCREF(value);
        if (PyList_SetItem(PyList_GetItem(all, column), at, value) < 0)
            return -1;
    }
    return 0;
}

/* The number of each name. */
static PyObject *numbered(PyObject *names)
{
    PyObject *numbers = PyDict_New();
    for (Py_ssize_t n = PyTuple_Size(names) - 1; numbers != NULL && n >= 0; n--) {
        PyObject *number = PyLong_FromSsize_t(n);
        if (number == NULL || PyDict_SetItem(numbers, PyTuple_GetItem(names, n), number) < 0)
            Py_CLEAR(numbers);
        Py_XDECREF(number);
    }
    return numbers;
}

static PyObject *columns(PyObject *module, PyObject *args)
{
    PyObject *rows, *names;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &rows, &PyTuple_Type, &names))
        return NULL;
    Py_ssize_t count = PyTuple_Size(names), row_count = PyList_Size(rows);
    PyObject *numbers = numbered(names), *all = empty_columns(count, row_count);
    char *is_used = calloc((size_t)count + 1, 1);
    int done = numbers == NULL || all == NULL || is_used == NULL ? -1 : 0;
    if (is_used == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t n = 0; done == 0 && n < row_count; n++)
        done = place_row(n < PyList_Size(rows) ? PyList_GetItem(rows, n) : NULL, n, numbers, all, is_used);
    for (Py_ssize_t n = 0; done == 0 && n < count; n++)
        if (!is_used[n]) {
            Py_INCREF(Py_None);
            done = PyList_SetItem(all, n, Py_None);
        }
    free(is_used);
    Py_XDECREF(numbers);
    if (done < 0)
        Py_CLEAR(all);
    return all;
}

static int fill(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyType_Spec *specs[] = {&stats_spec, &events_spec, &prefixes_spec, &words_spec, &walk_spec, &sieve_spec, &search_spec};
    PyTypeObject **kept[] = {&state->stats_type, &state->events_type, &state->prefixes_type, &state->words_type};
    for (size_t n = 0; n < sizeof(specs) / sizeof(specs[0]); n++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[n], NULL);
        int is_added = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
        if (n < sizeof(kept) / sizeof(kept[0]))
            *kept[n] = (PyTypeObject *)type;
        else
            Py_XDECREF(type);
        if (is_added < 0)
            return -1;
    }
    if (PyModule_AddIntConstant(module, "HAS_SIEVE", is_scan_fast()) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static int visit(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->stats_type);
    Py_VISIT(state->events_type);
    Py_VISIT(state->prefixes_type);
    Py_VISIT(state->words_type);
    return 0;
}

static int clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->stats_type);
    Py_CLEAR(state->events_type);
    Py_CLEAR(state->prefixes_type);
    Py_CLEAR(state->words_type);
    return 0;
}

static PyMethodDef functions[] = {
    {"columns", columns, METH_VARARGS, "The values of rows by column; None for a column that no row has."},
    {"iso_ns", iso_ns, METH_O, "Nanoseconds of a plain time since 1970; None where Python is to look at it."},
    {"record_head", record_head, METH_O, "The head of a plain AIStore record; None where Python is to look at the line."},
    {"count_newlines", count_newlines, METH_VARARGS, "The newlines of a buffer between two places."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Inner loops of reading logs.",
    .m_size = sizeof(State),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = visit,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
