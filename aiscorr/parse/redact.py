"""Takes signatures and credentials out of text before it is stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from aiscorr.parse.search.word_bits import WordBits

#: What a query string is made of; a second `?` begins another, else a line of them would be searched once for each.
_IN_QUERY = r"(?!%3F)[^\s'\"<>)\]?]"
#: Parameters that only signed addresses, or those with a password, have; percent-encoded inside another address too.
_SIGNING = (
    r"X-Amz-|X-Goog-|Signature(?:=|%3D)|Expires(?:=|%3D)|Policy(?:=|%3D)|Key-Pair-Id(?:=|%3D)|AWSAccessKeyId(?:=|%3D)"
    r"|token(?:=|%3D)|access_key|secret|(?:(?<=[?&;])|(?<=%3F)|(?<=%26)|(?<=u0026))"
    r"(?:sig|se|auth|jwt|api_?key|passw(?:or)?d|pwd|hdnt[sl])(?:=|%3D)"
)
_SECRET_QUERY = re.compile(rf"(\?|%3F)(?:{_IN_QUERY})*?(?:{_SIGNING})[^\s'\"<>)\]]*", re.IGNORECASE)
#: A parameter that stands outside of what was taken for a query string, or a field of a signed header.
_PARAMETER = re.compile(
    r"(\b(?:X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|Signature)(?:=|%3D|:\s?))[A-Za-z0-9+/%=_.-]{8,}",
    re.IGNORECASE,
)
_BEARER = re.compile(r"((?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}")
_HEADER = re.compile(r"(\b(?:AWS |[Tt]oken )\s?)(?:[A-Z0-9]{16,}:[A-Za-z0-9+/=]{20,}|gh[a-z]_[A-Za-z0-9]{16,})")
_NAMED = re.compile(
    r"(?<![\w.-])(?=[\w.-]*?(?:SECRET|PASSWORD|PASSWD|API[_-]?KEY|ACCESS[_-]?KEY"
    r"|(?:ACCESS|AUTHN?|SESSION|SECURITY|HF)[_.-]TOKEN))"
    r"([\w.-]++\\?[\"']?\s*+[=:]\s*+\\?[\"']?)[^\s\"',;\\]{6,}",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(--(?:auth-)?token[ =])[^\s\"']{8,}")
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.]{1,15}://)[^/\s:@\"']{0,200}:[^/\s@\"']{1,500}@", re.IGNORECASE)
#: Tokens that tell what they are: JSON web tokens (AuthN's too), Hugging Face, GitHub.
_TOKEN = re.compile(
    r"\b(?:eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?|hf_[A-Za-z0-9]{20,}|gh[opsu]_[A-Za-z0-9]{20,})"
)
#: A private key on one line, whose line ends are written out.
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)(?!-----)[^\s\"'].*?(?=-----END|$)")
#: A private key on lines of its own, each perhaps behind a label of a rank; so long are its lines where it is cut.
_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z ]{0,30}PRIVATE KEY-----")
_KEY_LINE = re.compile(r"(?:(?<=^)|(?<=[\s\]:|>]))[A-Za-z0-9+/]{16,}={0,2}\s*$|(?<=^)[A-Za-z0-9+/]{4,15}={0,2}\s*$")
_KEY_WIDTHS, _KEY_RUN = (64, 70, 76), 3

_SIGNED = ("x-amz-", "x-goog-", "signature", "expires", "policy", "key-pair-id", "accesskeyid")
_ASKED = ("token", "access_key", "secret", "sig=", "sig%3d", "se=", "se%3d", "auth=", "jwt=", "key=", "pwd=", "passw",
          "hdnt")  # fmt: skip
_NAMES = ("secret", "passw", *(f"{word}{mark}key" for word in ("api", "access") for mark in ("", "_", "-")))
#: Words in lower case of which one stands in every match, the regex, and what takes the match's place. The first rule
#: is for query strings.
_ALL_RULES = (
    ((*_SIGNED, *_ASKED), _SECRET_QUERY, r"\1<redacted>"),
    (("signature", "-credential", "-security-token"), _PARAMETER, r"\1<redacted>"),
    (("bearer", "basic"), _BEARER, r"\1<redacted>"),
    (("aws ", "token "), _HEADER, r"\1<redacted>"),
    ((*_NAMES, *(f"{mark}token" for mark in "_.-")), _NAMED, r"\1<redacted>"),
    (("--token", "--auth-token"), _FLAG, r"\1<redacted>"),
    (("@",), _USERINFO, r"\1<redacted>@"),
    (("private key-----",), _PRIVATE_KEY, r"\1<redacted>"),
    (("eyj", "hf_", "gho_", "ghp_", "ghs_", "ghu_"), _TOKEN, "<redacted>"),
)
_QUERY = ("?", "%3f")
_WORDS = WordBits([*_QUERY, *(word for words, _, _ in _ALL_RULES for word in words)], folds=True)
_MAY_BE_QUERY = _WORDS.bits(*_QUERY)
_MAY_BE_SECRET = _WORDS.bits(*(word for words, _, _ in _ALL_RULES for word in words))
_RULES = [(_WORDS.bits(*words), regex, clean) for words, regex, clean in _ALL_RULES]


def redact(text: str) -> str:
    """The text with query strings of signed addresses, tokens, named secrets and user:password@ taken out.

    AIStore's own query (provider, tid, pid, utm) has no secret and stays.
    """
    held = _WORDS.of(text)
    for words, regex, clean in _RULES if held & _MAY_BE_QUERY else _RULES[1:]:
        if held & words:
            text = regex.sub(clean, text)
    return text


def redacted(texts: Iterable[str]) -> dict[str, str]:
    """Those of some texts that hold a secret, each with what it becomes by `redact`."""
    words_of = _WORDS.of
    suspects = [text for text in texts if words_of(text) & _MAY_BE_SECRET]
    return {text: clean for text in suspects if (clean := redact(text)) != text}


def redacted_lines(lines: Sequence[str]) -> list[str]:
    """Lines that follow each other, each by `redact`, and those of private keys taken out, also where a key is cut."""
    found = [_KEY_LINE.search(line) for line in lines]
    hidden = _inside_key(lines) | _key_runs(found)
    return [
        line[: match.start()] + "<redacted>" if match is not None and number in hidden else redact(line)
        for number, (line, match) in enumerate(zip(lines, found, strict=True))
    ]


def _inside_key(lines: Sequence[str]) -> set[int]:
    """The numbers of lines between the edges of a key; an edge that is missing lies outside of the lines."""
    marks = [_KEY_EDGE.search(line) for line in lines]
    edges = [mark[1] if mark else "" for mark in marks]
    is_inside, inside = next((edge for edge in edges if edge), "") == "END", set()
    for number, edge in enumerate(edges):
        is_inside = (is_inside or edge == "BEGIN") and edge != "END"
        if is_inside and not edge:
            inside.add(number)
    return inside


def _key_runs(found: Sequence[re.Match[str] | None]) -> set[int]:
    """The numbers of lines that only a key has: several in a row of its width, and no hexadecimal digest."""
    runs: set[int] = set()
    run: list[int] = []
    for number, match in enumerate([*found, None]):
        if match is not None and len(match[0].rstrip()) in _KEY_WIDTHS and not match[0].islower():
            run.append(number)
            continue
        runs.update(run if len(run) >= _KEY_RUN else ())
        run = []
    return runs
