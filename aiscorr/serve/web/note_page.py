"""The form for a note on a failure, and what the notes say the failures really were, as a truth.toml."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from starlette.responses import RedirectResponse, Response

from aiscorr.errors import AiscorrError, UsageError
from aiscorr.query.formats import printable
from aiscorr.serve.notes import VERDICTS, Note, keep_note, note_of, notes_path, read_notes, truth
from aiscorr.serve.web.answers import NotFoundError, body_of
from aiscorr.serve.web.frame import failure_address, link, moment

if TYPE_CHECKING:
    from starlette.requests import Request

    from aiscorr.serve.web.answers import Site

_MOST_BYTES = 32 << 10


async def note(site: Site, request: Request) -> Response:
    """Keeps the note of a form, and goes back to the failure."""
    failure_id = request.path_params["failure"]
    body = await body_of(request, _MOST_BYTES)
    given = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))
    if not hmac.compare_digest(given.get("key", "").encode(), _key(site, failure_id).encode()):
        raise UsageError("the form is not of this server, or too old", where="the note", try_this="load its page again")
    await site.read(_known, site, failure_id)
    classes = await site.read(site.reader.classes)
    path = notes_path(site.reader.settings.base_path)
    await site.read(keep_note, path, failure_id, note_of(given, classes), datetime.now(UTC))
    return RedirectResponse(f"{failure_address(failure_id)}#note", 303)


async def truths(site: Site, request: Request) -> Response:
    """What the notes say that failures really were; of one failure, or of all with a correction."""
    notes = await site.read(read_notes, notes_path(site.reader.settings.base_path))
    which = request.path_params.get("failure")
    wanted = [one for one, kept in notes.items() if (kept.is_correction if which is None else one == which)]
    if which is not None and not wanted:
        raise NotFoundError("there is no note on this failure", where="/api/truth", try_this="a note on its page")
    found = await site.read(site.reader.judged, wanted)
    return Response(truth(found, notes), media_type="application/toml")


def note_html(site: Site, failure_id: str) -> str:
    """The note on a failure, and the form that changes it."""
    head = '<section id="note" class="remark">\n<h2>Note</h2>\n'
    try:
        kept = read_notes(notes_path(site.reader.settings.base_path)).get(failure_id, Note())
    except AiscorrError as error:  # the report is shown without it
        return f'{head}<p class="open">{escape(printable(error.what))}</p>\n</section>\n'
    form = _form(kept, failure_id, site.reader.classes(), _key(site, failure_id))
    return f"{head}{_said(kept, failure_id)}{form}</section>\n"


def _known(site: Site, failure_id: str) -> None:
    if not site.reader.judged([failure_id]):
        raise NotFoundError("no such failure is known", where="the note", try_this="/failures lists them")


def _said(kept: Note, failure_id: str) -> str:
    if kept == Note():
        return ""
    said = [("owner", kept.owner), ("it was", ", ".join(filter(None, (kept.was_verdict, kept.was_class))))]
    said += [("nodes", kept.was_nodes), ("ranks", kept.was_ranks)]
    rows = "".join(f"<dt>{name}</dt><dd>{escape(printable(value))}</dd>\n" for name, value in said if value)
    rows += f"<dt>noted</dt><dd>{moment(kept.noted_at[:19])}</dd>\n"
    text = "".join(f"<p>{escape(printable(line))}</p>\n" for line in kept.text.split("\n") if line.strip())
    taken = link(f"/api/truth/{quote(failure_id, safe='')}", "as truth.toml") if kept.is_correction else ""
    return f"{text}<dl>\n{rows}</dl>\n" + (f"<p>{taken}</p>\n" if taken else "")


def _form(kept: Note, failure_id: str, classes: list[str], key: str) -> str:
    def field(name: str, words: str, value: str) -> str:
        return f'<label>{words}<input name="{name}" value="{escape(printable(value))}"></label>\n'

    def choice(name: str, words: str, value: str, options: tuple[str, ...]) -> str:
        shown = "".join(
            f'<option value="{escape(one)}"{" selected" if one == value else ""}>{escape(one or "as said")}</option>'
            for one in ("", *options)
        )
        return f'<label>{words}<select name="{name}">{shown}</select></label>\n'

    text = "\n".join(map(printable, kept.text.split("\n")))
    return (
        f"<details><summary>{'change it' if kept != Note() else 'write one, or say what it really was'}</summary>\n"
        f'<form method="post" action="/notes/{escape(quote(failure_id, safe=""))}">\n'
        f'<label class="wide">note<textarea name="text" rows="3">\n{escape(text)}</textarea></label>\n'
        + field("owner", "owner", kept.owner)
        + choice("was_verdict", "storage was", kept.was_verdict, VERDICTS)
        + choice("was_class", "class was", kept.was_class, tuple(classes))
        + field("was_nodes", "nodes were", kept.was_nodes)
        + field("was_ranks", "ranks were", kept.was_ranks)
        + f'<input type="hidden" name="key" value="{key}"><button>keep</button>\n</form>\n</details>\n'
    )


def _key(site: Site, failure_id: str) -> str:
    return hmac.new(site.secret, failure_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
