/* The head of an AIStore record that is alone in its line, as parse/ais/record.py takes it apart. */
#include "swift.h"

static int two(Bytes text) { return (text[0] - '0') * 10 + text[1] - '0'; }

int64_t time_of_day(Bytes text, Py_ssize_t size)
{
    static const char shape[] = "00:00:00.000000 ";
    if (size < 16)
        return -1;
    for (int at = 0; at < 16; at++)
        if (shape[at] == '0' ? !is_digit(text[at]) : text[at] != (unsigned char)shape[at])
            return -1;
    int64_t micros = two(text + 9) * 10000 + two(text + 11) * 100 + two(text + 13);
    int second = two(text + 6) < 59 ? two(text + 6) : 59;
    return (two(text) * 3600 + two(text + 3) * 60 + second) * SECOND_NS + micros * 1000;
}

static int is_name_letter(unsigned char letter)
{
    return is_digit(letter) || (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') || letter == '_';
}

/* Where `moss:684 ` or `log.go:12] ` ends that begins at a place; `*past` is behind its number. The place where there is none. */
static Py_ssize_t past_location(Bytes text, Py_ssize_t size, Py_ssize_t start, Py_ssize_t *past)
{
    Py_ssize_t at = start;
    while (at < size && is_name_letter(text[at]))
        at++;
    if (at == start)
        return start;
    at += size - at >= 3 && memcmp(text + at, ".go", 3) == 0 ? 3 : 0;
    if (at >= size || text[at] != ':')
        return start;
    Py_ssize_t digits = ++at;
    while (at < size && is_digit(text[at]))
        at++;
    *past = at;
    at += at < size && text[at] == ']';
    return *past == digits || at >= size || text[at] != ' ' ? start : at + 1;
}

/* Whether another record may be glued to this one: `E 02:`. */
static int may_be_glued(Bytes text, Py_ssize_t size, Py_ssize_t at)
{
    for (; size - at >= 5; at++)
        if ((text[at] == 'I' || text[at] == 'W' || text[at] == 'E') && text[at + 1] == ' ' && is_digit(text[at + 2]) &&
            is_digit(text[at + 3]) && text[at + 4] == ':')
            return 1;
    return 0;
}

PyObject *record_head(PyObject *module, PyObject *line)
{
    char *raw;
    Py_ssize_t size, past = 0;
    if (PyBytes_AsStringAndSize(line, &raw, &size) < 0)
        return NULL;
    Bytes text = (Bytes)raw;
    int is_headed = size >= 18 && (text[0] == 'I' || text[0] == 'W' || text[0] == 'E') && text[1] == ' ';
    int64_t of_day = is_headed ? time_of_day(text + 2, size - 2) : -1;
    if (of_day < 0 || (size > 18 && text[18] == '{'))
        Py_RETURN_NONE;
    Py_ssize_t message = past_location(text, size, 18, &past);
    if (may_be_glued(text, size, message))
        Py_RETURN_NONE;
    if (message == 18)
        return Py_BuildValue("s#Lzn", raw, (Py_ssize_t)1, (long long)of_day, NULL, message);
    return Py_BuildValue("s#Ls#n", raw, (Py_ssize_t)1, (long long)of_day, raw + 18, past - 18, message);
}
