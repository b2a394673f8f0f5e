"""The interactive SQL shell: history, completion by context, and which typed lines are commands of its own.

The database is opened for each statement and closed after it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aiscorr.errors import AiscorrError
from aiscorr.query.completion import Names, candidates

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent

HELP = """\
SQL ends with `;`, or with `\\G` for one value a line; a line may hold several statements. @NAME runs a named query,
with -p NAME=VALUE as reports print it; so does a whole command, `aiscorr query @NAME …`. Further:
  .tables [WORD]    the views, with a sentence each (also .views, \\d)
  .describe VIEW    what a view is, and its columns (also \\d VIEW)
  .schema VIEW      the SQL of a view
  .queries          the named queries
  .mode MODE        table, wide, vertical, csv, json, jsonl or markdown (also .format; \\x for vertical and back)
  .limit N          rows shown of a statement, 1000 at first; 0 for all
  .timer on|off     say how long a statement took
  .quit             leave (also exit, quit, \\q, Ctrl-D)
"""
COMMANDS = (
    ".tables", ".views", ".describe", ".schema", ".queries", ".mode", ".format", ".limit", ".timer", ".help", ".quit",
)  # fmt: skip
#: What people type in other shells, and what it is here.
_SPELLINGS = {
    "exit": ".quit", "quit": ".quit", "\\q": ".quit", ".exit": ".quit", ".q": ".quit", "help": ".help", "?": ".help",
    "\\?": ".help", "\\h": ".help", ".h": ".help", "\\d": ".tables", "\\dt": ".tables", "\\dv": ".tables",
    "\\x": ".mode vertical", "\\timing": ".timer", ".views": ".tables", ".format": ".mode", "\\d+": ".tables",
}  # fmt: skip
#: Parts of a text in which a semicolon ends nothing.
_QUOTED = re.compile(
    r"'(?:[^']|'')*(?:'|$)|\"(?:[^\"]|\"\")*(?:\"|$)|--[^\n]*|/\*.*?(?:\*/|$)|(\$\w*\$).*?(?:\1|$)", re.DOTALL
)
_END = re.compile(r";|\\G\b", re.IGNORECASE)
#: A verb of aiscorr without its name before it. `explain` of more than a word is SQL's.
_VERB = re.compile(r"(?:report|lines|verify|ingest|collect|pull|serve|mcp|demo|completion)(?: [^=;]*)?;?|explain \S+")


def history_path(environment: dict[str, str]) -> Path:
    """Where statements are remembered: `$XDG_STATE_HOME/aiscorr/history`."""
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "aiscorr" / "history"


def command_of(text: str) -> tuple[str, str] | None:
    """The shell's own command that a line is, and what follows it; None for SQL, a named query and `aiscorr …`."""
    line = text.strip().rstrip(";").strip()
    verb, _, rest = line.partition(" ")
    known = _SPELLINGS.get(verb.lower(), verb)
    if verb.lower() in ("\\d", "\\d+", "\\dv", "\\dt") and rest.strip():
        return ".describe", rest.strip()
    if known.startswith(".") and (verb.startswith((".", "\\")) or not rest):
        verb, _, more = known.partition(" ")
        return verb, (more or rest).strip()
    return None


def whole_command(text: str) -> str | None:
    """The command line `aiscorr …` that a line is, which may leave the name away; None for SQL and the like."""
    line = text.strip()
    if line.startswith("aiscorr "):
        return line
    return f"aiscorr {line}" if _VERB.fullmatch(line) else None


def is_complete(text: str) -> bool:
    """Whether a text can be run: a command of the shell, a named query, or SQL with its end."""
    stripped = text.strip()
    is_line = stripped.startswith(("@", ".", "\\")) or command_of(stripped) is not None
    is_line = is_line or whole_command(stripped) is not None
    return not stripped or is_line or stripped.endswith(";") or stripped.lower().endswith("\\g")


def statements_of(text: str) -> list[tuple[str, bool]]:
    """The statements of a text, and whether each ends with `\\G`, which asks for one value a line."""
    found: list[tuple[str, bool]] = []
    start = place = 0
    while (end := _END.search(text, place)) is not None:
        quoted = _QUOTED.search(text, place)
        if quoted is not None and quoted.start() < end.start():
            place = quoted.end()
            continue
        found.append((text[start : end.start()].strip(), end[0] != ";"))
        start = place = end.end()
    found.append((text[start:].strip(), False))
    return [one for one in found if one[0]]


def _enter_runs() -> KeyBindings:
    """Enter runs what is complete and continues what is not."""
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings


def _completer(names: Names) -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class ByContext(Completer):
        """Offers what may come next where the cursor is."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            """The candidates, the likeliest first."""
            word, found = candidates(document.text_before_cursor, names)
            yield from (Completion(name, start_position=-len(word)) for name in found)

    return ByContext()


def _history(environment: dict[str, str]) -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = history_path(environment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileHistory(str(path))
    except OSError:
        return InMemoryHistory()


def run_shell(
    execute: Callable[[str], None],
    names: Callable[[], Names],
    say: Callable[[str], None],
    complain: Callable[[str], None],
    environment: dict[str, str],
) -> None:
    """Reads statements until the user leaves; `execute` runs one and shows its rows; no error and no Ctrl-C ends it."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer

    session: PromptSession[str] = PromptSession(
        history=_history(environment),
        completer=_completer(names()),
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        key_bindings=_enter_runs(),
        complete_while_typing=False,
        prompt_continuation="     ...> ",
    )
    say("aiscorr query: SQL ends with `;`, .help for more")
    while True:
        try:
            text = session.prompt("aiscorr> ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if (command_of(text) or ("", ""))[0] == ".quit":
            return
        if not text:
            continue
        try:
            execute(text)
        except AiscorrError as error:
            complain(f"error: {error}")
        except KeyboardInterrupt:
            complain("stopped")


def terminal_width() -> int:
    """Columns of the terminal, 100 where there is none."""
    return shutil.get_terminal_size((100, 40)).columns
