"""What people say of a failure: a note, an owner, and what it really was, in a file beside the database.

What it really was comes out as a truth.toml, so that a mistake becomes a case that verdicts are measured by.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from aiscorr.errors import AiscorrError, UsageError
from aiscorr.query.formats import json_text
from aiscorr.serve.state import read_state, write_state

VERDICTS = ("guilty", "innocent", "undetermined")
_LONGEST = {"owner": 100, "text": 4000, "was_class": 60, "was_verdict": 20, "was_nodes": 400, "was_ranks": 400}
_WHERE = "the note"
_NAME = re.compile(r"[\w.:-]+")
_GUARD = threading.Lock()


@dataclass(frozen=True)
class Note:
    """A note; `was_…` is what the failure really was where the verdict was wrong, empty for what was right."""

    owner: str = ""
    text: str = ""
    was_class: str = ""
    was_verdict: str = ""
    was_nodes: str = ""
    was_ranks: str = ""
    noted_at: str = ""

    @property
    def is_correction(self) -> bool:
        """Whether it says that something of the verdict was wrong."""
        return any((self.was_class, self.was_verdict, self.was_nodes, self.was_ranks))


def notes_path(base_path: str) -> str:
    """Where the notes on the failures of a database are; `base_path`: that of its settings."""
    return f"{base_path}.notes.json"


def read_notes(path: str) -> dict[str, Note]:
    """The notes by failure. Raises AiscorrError for a file that is damaged."""
    try:
        return read_state(path, Note)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise AiscorrError(
            f"the notes cannot be read: {error}", where=path, try_this="mend the file, or move it"
        ) from None


def owners_of(path: str) -> dict[str, str]:
    """Who owns which failure; nobody where the notes cannot be read, which a failure's page says."""
    try:
        return {failure_id: note.owner for failure_id, note in read_notes(path).items() if note.owner}
    except AiscorrError:
        return {}


def keep_note(path: str, failure_id: str, note: Note, now: datetime) -> None:
    """Keeps the note on a failure in place of the one before; an empty one takes it away. Raises AiscorrError."""
    with _GUARD, _alone(path):
        notes = read_notes(path)
        if note == Note():
            notes.pop(failure_id, None)
        else:
            notes[failure_id] = replace(note, noted_at=now.astimezone(UTC).isoformat(timespec="seconds"))
        try:
            write_state(path, notes)
        except OSError as error:
            raise _not_kept(path, error) from None


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """No other service that has the same notes changes them as long as the block runs."""
    try:
        lock = open(f"{path}.lock", "a")  # noqa: SIM115 (closed by `with` below)
    except OSError as error:
        raise _not_kept(path, error) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _not_kept(path: str, error: OSError) -> AiscorrError:
    said = f"the note cannot be kept: {error.strerror}"
    return AiscorrError(said, where=path, try_this="let the service write there")


def note_of(given: Mapping[str, str], classes: list[str]) -> Note:
    """The note of a form. Raises UsageError for what is none of its kind, or too long."""
    values = {name: " ".join(given.get(name, "").split()) for name in _LONGEST if name != "text"}
    values["text"] = given.get("text", "").replace("\r\n", "\n").strip()
    for name, most in _LONGEST.items():
        if len(values[name]) > most:
            raise UsageError(f"{name} is longer than {most} characters", where=_WHERE, try_this="less")
    if values["was_class"] not in ("", *classes):
        raise UsageError(f"no class is called {values['was_class']!r}", where=_WHERE, try_this=", ".join(classes))
    if values["was_verdict"] not in ("", *VERDICTS):
        raise UsageError(f"{values['was_verdict']!r} is no verdict", where=_WHERE, try_this=", ".join(VERDICTS))
    if not all(_NAME.fullmatch(name) for name in parts(values["was_nodes"])):
        raise UsageError("nodes are ids, with commas between them", where=_WHERE, try_this="AZq6Oo53, gREiOVxt")
    if not all(rank.isdecimal() and len(rank) < 9 for rank in parts(values["was_ranks"])):
        raise UsageError("ranks are numbers, with commas between them", where=_WHERE, try_this="5, 12")
    return Note(**values)


def parts(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def truth(failures: Sequence[Mapping[str, Any]], notes: Mapping[str, Note]) -> str:
    """A truth.toml of failures: what each really was, from the notes, and what was said where the notes say nothing.

    Each of `failures` has failure_id, job_id, failure_class, storage_verdict, culprit_ranks and node_ids.
    """
    lines = ["# What failures really were, from notes; save as truth.toml with their logs", 'name = "noted"']
    story = " ".join(notes[one["failure_id"]].text for one in failures if notes[one["failure_id"]].text)
    lines.append(f"story = {_text(' '.join(story.split()))}")
    for one in failures:
        note = notes[one["failure_id"]]
        verdict = note.was_verdict or one["storage_verdict"]
        nodes = parts(note.was_nodes) or ([] if verdict != "guilty" else one["node_ids"])
        ranks = parts(note.was_ranks) or [str(rank) for rank in one["culprit_ranks"]]
        lines += [
            "", f"# {_comment(one['failure_id'])}", "[[expect]]", f"job_id = {_text(one['job_id'])}",
            f"culprit_ranks = [{', '.join(str(int(rank)) for rank in ranks)}]",
            f"failure_class = {_text(note.was_class or one['failure_class'])}",
            f"storage_verdict = {_text(verdict)}", f"ais_nodes = [{', '.join(map(_text, nodes))}]",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """A text of TOML, whose escapes are those of JSON."""
    return json_text(value)


def _comment(value: str) -> str:
    return re.sub(r"[^\w.:-]", "?", value)
