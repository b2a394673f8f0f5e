"""Takes signatures and credentials out of text before it is stored."""

from __future__ import annotations

import re

_SECRET_QUERY = re.compile(
    r"\?[^\s'\"<>)\]]*(?:X-Amz-|X-Goog-|Signature=|[?&]sig=|[?&]se=|Expires=|Policy=|Key-Pair-Id=|AWSAccessKeyId=|token=|access_key|secret)[^\s'\"<>)\]]*",
    re.IGNORECASE,
)
_BEARER = re.compile(r"((?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}")
_NAMED = re.compile(
    r"(\b\w*(?:SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|ACCESS_TOKEN|AUTH_TOKEN|SESSION_TOKEN|HF_TOKEN)\w*\\?[\"']?\s*[=:]\s*\\?[\"']?)"
    r"[^\s\"',;\\]{6,}",
    re.IGNORECASE,
)
#: Every secret that is looked for stands beside one of these, in lower case.
_MARKS = ("?", "bearer", "basic", "@", "secret", "passw", "_key", "_token")
_USERINFO = re.compile(r"(https?://)[^/\s:@]+:[^/\s@]+@")


def redact(text: str) -> str:
    """The text with query strings of signed addresses, tokens, named secrets and user:password@ taken out.

    AIStore's own query (provider, tid, pid, utm) has no secret and stays.
    """
    folded = text.lower()
    if not any(mark in folded for mark in _MARKS):
        return text
    text = _SECRET_QUERY.sub("?<redacted>", text)
    text = _BEARER.sub(r"\1<redacted>", text)
    text = _NAMED.sub(r"\1<redacted>", text)
    return _USERINFO.sub(r"\1<redacted>@", text)
