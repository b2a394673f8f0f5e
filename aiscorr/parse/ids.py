"""Identifiers that join AIStore lines with each other and with client errors, read from any message.

Forms are those of AIStore 3.30 to 5.0: wid quoted or not, xid with or without `gbt-`, node ids as
`t[id]`, bare in transport headers, or in the query of a redirected address.
"""

from __future__ import annotations

import re

from aiscorr.parse.search.word_bits import WordBits
from aiscorr.parse.values import Value, base36_ns

WID = re.compile(
    r"(?:\bwid[=: ]\"?|unknown wid |/v1/ml/moss/(?:[^/ ?\"]+/)?(?:noxid|[\w-]{9,})/)"
    r"([A-Za-z0-9_-]{1,8}-[A-Za-z0-9_-]{5})(?![A-Za-z0-9_-])"
)
XID = re.compile(
    r"get-batch\[([A-Za-z0-9_-]{9,})\]"
    r"|/v1/ml/moss/(?:[^/ ?\"]+/)?(gbt-[A-Za-z0-9_-]{9,}|(?!noxid/)[A-Za-z0-9_-]{9,14})"
    r"/[A-Za-z0-9_-]{1,8}-[A-Za-z0-9_-]{5}/"
    r"|/t2tctrl/get-batch/([A-Za-z0-9_-]{9,})/|\b(gbt-[A-Za-z0-9_-]{9,})\b"
)
_ENDPOINT = re.compile(
    r"(?:https?://|dial tcp |host='|onnect to (?=\S+ port ))(\[[0-9a-fA-F:]+\]|[\w.-]+)(?:', port=|:| port )(\d{2,5})"
)
_BUCKET = re.compile(r"\b(ais|aws|s3|gs|gcp|az|azure|oci|ht)://(@?[\w#.-]+)(?:/([^\s\"',\])}]+))?")
_OBJECT_URL = re.compile(r"/(?:v1/objects/([\w.@#-]+)|s3/(?:(?<=\d\d/s3/)|(?<=[A-Z] /s3/))[\w.@#-]+)/([^\s?\"',)\]}]+)")
_SMAP = re.compile(r"Smap v(\d+)(?:\[([\w-]*))?")
_REBALANCE = re.compile(r"rebalance\[(g\d+)\]|\[(g\d+),v\d+\]")
_MOUNTPATH = re.compile(r"mp\[([^\],]+)|\bmp-(?:path )?(/[^\s:,]+)")
#: Here and below a look back stands behind what it is for: `re` skips to the first letter of a literal only.
_STATUS = re.compile(
    r"STATUS:(\d{3})|\"status\":(\d{3})|(?:HTTP(?<!\wHTTP)|status(?<!\wstatus))[ =/:](?:1\.1 )?(\d{3})\b"
)
#: Of which one stands in every match of _STATUS, _BUCKET, _ENDPOINT, _PEER, _TX_RX and _NODE.
_STATUS_WORDS = ("STATUS:", '"status":', *(f"{word}{mark}" for word in ("HTTP", "status") for mark in " =/:"))
_SCHEMES = ("ais://", "aws://", "s3://", "gs://", "gcp://", "az://", "azure://", "oci://", "ht://")
_LONGEST_SCHEME = max(map(len, _SCHEMES)) - len("://")
_HOST_WORDS = ("tp://", "tps://", "dial tcp ", "host='", "onnect to ")
_PEER_WORDS = (" t[", " p[", "shared-dm --> ", "reconnecting to ", "connectivity to ", "tid=", " not present", "name=")
_ID_WORDS = ("://", "/v1/", "STATUS", "port=", " port ", "wid", "gbt-", " Error", "t[", "p[")
_ARROWS = ("<=", "=>")
_NODE_WORDS = ("t[", "p[")
_WORDS = WordBits(
    (*_ID_WORDS, *_STATUS_WORDS, *_SCHEMES, *_HOST_WORDS, *_PEER_WORDS, *_ARROWS, "/moss/", "stale", "get-batch[",
     "/get-batch/", "dial tcp", "/v1/objects/", "/s3/", "t Error", "r Error", "Smap v", "rebalance", "[g", "mp[",
     "utm=", "url: /")
)  # fmt: skip
#: The words of a text, for the functions below that take them.
words_of = _WORDS.of
_MAY_BE_WID = _WORDS.bits("wid", "/moss/", "stale")
_MAY_BE_XID = _WORDS.bits("get-batch[", "/get-batch/", "gbt-", "/moss/")
_MAY_BE_ADDRESS = _WORDS.bits("://", "dial tcp", "port=", " port ")
_MAY_BE_HOST = _WORDS.bits(*_HOST_WORDS)
_MAY_BE_BUCKET = _WORDS.bits(*_SCHEMES)
_MAY_BE_OBJECT = _WORDS.bits("/v1/objects/", "/s3/")
_MAY_BE_STATUS = _WORDS.bits(*_STATUS_WORDS)
_MAY_BE_ERROR = _WORDS.bits("t Error", "r Error")
_MAY_BE_ANY_STATUS = _MAY_BE_STATUS | _MAY_BE_ERROR
_MAY_BE_SMAP = _WORDS.bits("Smap v")
_MAY_BE_REBALANCE = _WORDS.bits("rebalance", "[g")
_MAY_BE_MOUNTPATH = _WORDS.bits("mp[")
_MAY_BE_PEER = _WORDS.bits(*_PEER_WORDS)
_MAY_BE_HEADER = _WORDS.bits(*_ARROWS)
_MAY_BE_NODE = _WORDS.bits(*_NODE_WORDS)
_MAY_BE_UTM = _WORDS.bits("utm=")
_MAY_BE_URL = _WORDS.bits("tp://", "tps://", "url: /")
_MAY_BE_TID = _WORDS.bits("tid=")
_MAY_BE_ID = _WORDS.bits(*_ID_WORDS)
_STATUS_ERROR = re.compile(r"\b([45]\d\d) (?:Client|Server) Error")
_UTM = re.compile(r"[?&]utm=([0-9a-z]{10,13})\b")
_TID = re.compile(r"[?&]tid=([\w-]+)")
_CLIENT_NODE = re.compile(r"\"node\":\s*\"[tp]\[([\w-]+)\]\"|\b[tp]\[([\w-]{5,})\]")
_URL = re.compile(r"https?://[^\s\"'<>)]+|/(?<=url: /)[^\s\"'()]+")
_NODE = re.compile(r"\b[tp]\[([\w-]{4,})\]")
_TX_RX = re.compile(r"\w\[(?:\w+)?([\w-]+)(<=|=>)([\w-]+)\]")
_PEER = re.compile(
    r"(?:from|abortWI|abortXact|startedWI|waiting for:|removing|joined|kalive|keepalive|=>) [tp]\[([\w-]+)\]"
    r"|shared-dm --> ([\w-]+)|failed reconnecting to ([\w-]+)|connectivity to ([\w-]+)|[?&]tid=([\w-]+)"
    r"|node ([\w-]+) not present|name=([\w-]+)"
)


def _first(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    return next((group for group in match.groups() if group), None)


def common_ids(message: str, held: int) -> dict[str, Value]:
    """xid, wid, endpoint, bucket, object and status found in a message of either side that holds these words."""
    found: dict[str, Value] = {}
    if held & _MAY_BE_WID and (wid := _first(WID.search(message))) is not None:
        found["wid"] = wid
    if held & _MAY_BE_XID and (xid := _first(XID.search(message))) is not None:
        found["xid"] = xid
    if held & _MAY_BE_HOST and held & _MAY_BE_ADDRESS:
        endpoint = _ENDPOINT.search(message)
        if endpoint is not None:
            found["endpoint"] = f"{endpoint[1]}:{endpoint[2]}"
    if held & _MAY_BE_BUCKET:
        # no match begins further in front of the first `://` than the longest scheme is
        bucket = _BUCKET.search(message, max(0, message.find("://") - _LONGEST_SCHEME))
        if bucket is not None:
            found["bucket"] = f"{bucket[1]}://{bucket[2]}"
            if bucket[3]:
                found["object"] = bucket[3].rstrip(".:;")
    if held & _MAY_BE_OBJECT:
        address = _OBJECT_URL.search(message)
        if address is not None:
            if address[1]:
                found.setdefault("bucket", f"ais://{address[1]}")
            found["object"] = address[2].rstrip(".:;")
    if held & _MAY_BE_ANY_STATUS:
        status = _status_of(message, held)
        if status is not None:
            found["status_code"] = status
    return found


def _status_of(message: str, held: int) -> int | None:
    """The first HTTP status of a message."""
    named = _STATUS.search(message) if held & _MAY_BE_STATUS else None
    error = _STATUS_ERROR.search(message) if held & _MAY_BE_ERROR else None
    if named is not None and (error is None or named.start() < error.start()):
        return int(_first(named) or 0)
    return int(error.group(1)) if error is not None else None


def ais_ids(message: str, self_id: str | None) -> dict[str, Value]:
    """Identifiers of a daemon's line; the peer is the node it is about, never the writer."""
    held = words_of(message)
    if not held:
        return {}
    found = common_ids(message, held)
    smap = _SMAP.search(message) if held & _MAY_BE_SMAP else None
    if smap is not None:
        found["smap_version"] = int(smap.group(1))
        if smap.group(2):
            found["smap_uuid"] = smap.group(2)
    if held & _MAY_BE_REBALANCE:
        rebalance = _first(_REBALANCE.search(message))
        if rebalance is not None:
            found["rebalance"] = rebalance
    if held & _MAY_BE_MOUNTPATH:
        mountpath = _first(_MOUNTPATH.search(message))
        if mountpath is not None:
            found["mountpath"] = mountpath
    peer = _peer_of(message, self_id, held)
    if peer is not None:
        found["peer_node_id"] = peer
    return found


def _peer_of(message: str, self_id: str | None, held: int) -> str | None:
    """The other node of a line: named after from/to words, in a transport header, or mentioned at all."""
    for match in _PEER.finditer(message) if held & _MAY_BE_PEER else ():
        named = _first(match)
        if named and named != self_id:
            return named
    header = _TX_RX.search(message) if held & _MAY_BE_HEADER else None
    if header is not None:
        for name in (header.group(1), header.group(3)):
            if name != self_id and len(name) >= 4:
                return name
    for name in _NODE.findall(message) if held & _MAY_BE_NODE else ():
        if name != self_id:
            return str(name)
    return None


def client_ids(message: str, held: int | None = None) -> dict[str, Value]:
    """Identifiers of a client's line: as common_ids, plus address, redirect time and the node it names.

    The node is the designated target where the address names one (`tid=`), else the one that answered.
    """
    held = words_of(message) if held is None else held
    found = common_ids(message, held)
    if held & _MAY_BE_UTM:
        utm = _UTM.search(message)
        if utm is not None:
            found["request_ns"] = base36_ns(utm.group(1))
    if held & _MAY_BE_URL:
        url = _URL.search(message)
        if url is not None:
            found["url"] = url.group(0).partition("?")[0].rstrip("\\")
    node = _first(_TID.search(message)) if held & _MAY_BE_TID else None
    if node is None and held & _MAY_BE_NODE:
        node = _first(_CLIENT_NODE.search(message))
    if node is not None:
        found["node_id"] = node
    return found


def may_hold_ids(held: int) -> bool:
    """Whether client_ids is asked of a line that holds these words."""
    return held & _MAY_BE_ID != 0
