/* The module: its types, and functions that count newlines and turn rows to columns. */
#include "native.h"

/* Raise together with VERSION in __init__.py when a name, an argument or a result changes. */
#define VERSION 5

typedef struct {
    PyObject *stats_type; /* the first, as lines.c takes it for */
} State;

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

/* The values that rows have under a name, as a list; None where no row has any but None. */
static PyObject *column(PyObject *rows, PyObject *name)
{
    Py_ssize_t count = PyList_Size(rows);
    PyObject *values = PyList_New(count);
    int is_empty = 1;
    for (Py_ssize_t n = 0; values != NULL && n < count; n++) {
        PyObject *row = n < PyList_Size(rows) ? PyList_GetItem(rows, n) : NULL;
        if (row == NULL || !PyDict_Check(row)) {
            PyErr_SetString(PyExc_TypeError, "rows are dictionaries");
            Py_CLEAR(values);
            break;
        }
        PyObject *value = PyDict_GetItemWithError(row, name);
        if (value == NULL && PyErr_Occurred()) {
            Py_CLEAR(values);
            break;
        }
        value = value == NULL ? Py_None : value;
        is_empty = is_empty && value == Py_None;
        Py_INCREF(value);
        PyList_SetItem(values, n, value);
    }
    if (values == NULL || !is_empty)
        return values;
    Py_DECREF(values);
    Py_RETURN_NONE;
}

static PyObject *columns(PyObject *module, PyObject *args)
{
    PyObject *rows, *names;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &rows, &PyTuple_Type, &names))
        return NULL;
    Py_ssize_t count = PyTuple_Size(names);
    PyObject *found = PyList_New(count);
    for (Py_ssize_t n = 0; found != NULL && n < count; n++) {
        PyObject *values = column(rows, PyTuple_GetItem(names, n));
        if (values == NULL || PyList_SetItem(found, n, values) < 0)
            Py_CLEAR(found);
    }
    return found;
}

static int fill(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->stats_type = PyType_FromModuleAndSpec(module, &stats_spec, NULL);
    if (state->stats_type == NULL || PyModule_AddType(module, (PyTypeObject *)state->stats_type) < 0)
        return -1;
    PyType_Spec *others[] = {&walk_spec, &words_spec, &sieve_spec, &prefixes_spec};
    for (size_t n = 0; n < sizeof(others) / sizeof(others[0]); n++) {
        PyObject *type = PyType_FromModuleAndSpec(module, others[n], NULL);
        int is_added = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
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
    Py_VISIT(((State *)PyModule_GetState(module))->stats_type);
    return 0;
}

static int clear(PyObject *module)
{
    Py_CLEAR(((State *)PyModule_GetState(module))->stats_type);
    return 0;
}

static PyMethodDef functions[] = {
    {"columns", columns, METH_VARARGS, "The values of rows by column; None for a column that no row has."},
    {"iso_ns", iso_ns, METH_O, "Nanoseconds of a plain time since 1970; None where Python is to look at it."},
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
