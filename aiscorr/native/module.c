/* The module: its types and functions. */
#include "native.h"

/* Raise together with VERSION in __init__.py when a name, an argument or a result changes. */
#define VERSION 8

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
