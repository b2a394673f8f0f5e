/* Reads what stands in front of a worker line, as parse/worker/prefixes.py does it, where all of it is plain.
 *
 * Plain are times as ISO 8601 writes them, numbers of up to 18 digits, lines of up to 4096 bytes and no process group.
 */
#include "prefixes.h"

#include <stddef.h>

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

/* Where a word of a form stands first in the line; NULL where it does not. */
static Bytes place_of(const Reading *r, const Form *form, Py_ssize_t word)
{
    Py_ssize_t rarest = form->rarest[word], last = r->size - form->word_sizes[word] + rarest;
    for (Py_ssize_t at = rarest; at <= last; at++) {
        Bytes found = memchr(r->lower + at, form->words[word][rarest], (size_t)(last + 1 - at));
        if (found == NULL)
            return NULL;
        if (memcmp(found - rarest, form->words[word], (size_t)form->word_sizes[word]) == 0)
            return found - rarest;
        at = found - r->lower;
    }
    return NULL;
}

/* Where the line holds one of a form's words; NULL for none. */
static Bytes word_of(const Reading *r, const Form *form)
{
    Bytes found = form->word_count ? NULL : r->lower;
    for (Py_ssize_t n = 0; n < form->word_count && found == NULL; n++)
        found = place_of(r, form, n);
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

int open_reading(Reading *r, Bytes line, Py_ssize_t size)
{
    memset(r, 0, offsetof(Reading, size));
    r->line = line;
    r->size = size;
    r->is_plain = 1;
    if (size > LINE_LIMIT)
        return 0;
    for (Py_ssize_t n = 0; n < size; n++)
        r->lower[n] = line[n] | (unsigned char)((unsigned char)(line[n] - 'A') < 26 ? 0x20 : 0);
    return 1;
}

static int is_digit_at(Bytes text, Bytes end, Bytes at) { return at >= text && at < end && *at >= '0' && *at <= '9'; }

/* Whether a text has `5:07:0`, as every time of a stamp has, or `time=`, as one has that counts seconds. */
static int may_have_time(Bytes text, Bytes end)
{
    for (Bytes at = text; (at = memchr(at, ':', (size_t)(end - at))) != NULL; at++)
        if (is_digit_at(text, end, at - 1) && is_digit_at(text, end, at + 1) && is_digit_at(text, end, at + 2) &&
            is_digit_at(text, end, at + 4) && at[3] == ':')
            return 1;
    for (Bytes at = text; (at = memchr(at, '=', (size_t)(end - at))) != NULL; at++)
        if (at - text >= 4 && memcmp(at - 4, "time", 4) == 0)
            return 1;
    return 0;
}

Py_ssize_t last_stamped(const Prefixes *self, Reading *r, Bytes text, Py_ssize_t low, Py_ssize_t end, Py_ssize_t known)
{
    while (end >= low) {
        Py_ssize_t start = low + start_of_line(text + low, end - low);
        if (start == known)
            return start;
        if (may_have_time(text + start, text + end)) {
            open_reading(r, text + start, end - start > STAMP_BYTES ? STAMP_BYTES : end - start);
            read_line(self, r, 1);
            if (!is_read(r) || r->own.is_there || r->wrapper.is_there)
                return start;
        }
        end = start - 1;
    }
    return -1;
}

void read_line(const Prefixes *self, Reading *r, int only_stamps)
{
    const Form *tag = &self->forms[self->wrapper_count + self->stamp_count];
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

/* Whether the line has a word of a form that tells ranks, of some forms. */
static int may_tell_rank(const Reading *r, const Form *forms, Py_ssize_t count)
{
    for (Py_ssize_t n = 0; n < count; n++)
        if (forms[n].has_rank && word_of(r, &forms[n]) != NULL)
            return 1;
    return 0;
}

void read_owner(const Prefixes *self, Reading *r)
{
    const Form *stamps = self->forms + self->wrapper_count, *tag = stamps + self->stamp_count;
    if (may_tell_rank(r, stamps, self->stamp_count)) {
        read_line(self, r, 0);
        return;
    }
    if (may_tell_rank(r, self->forms, self->wrapper_count))
        unwrap(self, r);
    read_late_rank(r, tag, tag + 3, self->forms + self->count - (tag + 3));
}
