"""The interactive SQL shell: history, completion over views, columns, functions and named queries.

The database is opened for each statement and closed after it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from aiscorr.errors import AiscorrError

if TYPE_CHECKING:
    import duckdb
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent

HELP = """\
SQL ends with `;`. @NAME runs a named query. Further:
  .views            the views, with a sentence each
  .describe VIEW    its columns
  .queries          the named queries
  .format FORMAT    table, csv, json, jsonl, markdown
  .quit             leave (Ctrl-D does too)
"""


def history_path(environment: dict[str, str]) -> Path:
    """Where statements are remembered: `$XDG_STATE_HOME/aiscorr/history`."""
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "aiscorr" / "history"


def completion_words(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Names of views, tables, columns, functions and keywords, for completion."""
    sources = (
        "select view_name from duckdb_views() where not internal",
        "select distinct column_name from duckdb_columns() where not internal",
        "select distinct function_name from duckdb_functions() where regexp_matches(function_name, '^[a-z]')",
        "select keyword_name from duckdb_keywords()",
    )
    return [str(row[0]) for sql in sources for row in connection.execute(sql).fetchall()]


def is_complete(text: str) -> bool:
    """Whether a text can be run: a dot command, a named query, or SQL with its semicolon."""
    stripped = text.strip()
    return not stripped or stripped.startswith((".", "@")) or stripped.endswith(";")


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
    words: Callable[[], Iterable[str]],
    say: Callable[[str], None],
    complain: Callable[[str], None],
    environment: dict[str, str],
) -> None:
    """Reads statements until the user leaves; `execute` runs one and shows its rows; no error and no Ctrl-C ends it."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import FuzzyWordCompleter
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer

    session: PromptSession[str] = PromptSession(
        history=_history(environment),
        completer=FuzzyWordCompleter(sorted(set(words()))),
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
        if text in (".quit", ".exit"):
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
