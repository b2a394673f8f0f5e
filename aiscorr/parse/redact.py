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
_USERINFO = re.compile(r"(https?://)[^/\s:@]+:[^/\s@]+@")


def redact(text: str) -> str:
    """The text with query strings of signed addresses, tokens, named secrets and user:password@ taken out.

    AIStore's own query (provider, tid, pid, utm) has no secret and stays.
    """
    folded = text.lower()
    for words, regex, clean in _RULES:
        for word in words:
            if word in folded:
                text = regex.sub(clean, text)
                break
    return text


_SIGNED = ("x-amz-", "x-goog-", "signature=", "sig=", "se=", "expires=", "policy=", "key-pair-id=", "accesskeyid=")
#: Words in lower case of which one stands in every match, the regex, and what takes the match's place.
_RULES = (
    ((*_SIGNED, "token=", "access_key", "secret"), _SECRET_QUERY, "?<redacted>"),
    (("bearer", "basic"), _BEARER, r"\1<redacted>"),
    (("secret", "passw", "_key", "_token"), _NAMED, r"\1<redacted>"),
    (("@",), _USERINFO, r"\1<redacted>@"),
)
