"""From settings to a cluster: how it is reached, where its logs go, and making room there once they are read."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime

from aiscorr.config import PullSettings, Settings
from aiscorr.errors import UsageError
from aiscorr.pull.clean import clean
from aiscorr.pull.connection import Connection, check_endpoint, check_tls, read_token
from aiscorr.pull.gather import SpoolOptions
from aiscorr.pull.spool import SpoolBusyError


def connect(endpoint: str | None, chosen: PullSettings, where: str) -> tuple[Connection, list[str]]:
    """The connection to a cluster, not tried yet, and what the user should know of it. Raises AiscorrError."""
    if not endpoint:
        raise UsageError("no cluster is named", where=where, try_this="--endpoint http://proxy:51080, or AIS_ENDPOINT")
    if bool(chosen.cert) != bool(chosen.key):
        raise UsageError(
            "a client certificate needs its key, and a key its certificate",
            where=chosen.cert or chosen.key or "",
            try_this="--cert FILE --key FILE, or AIS_CRT and AIS_CRT_KEY",
        )
    token = chosen.token or (read_token(chosen.token_file) if chosen.token_file else None)
    connection = Connection(
        check_endpoint(endpoint), token, chosen.ca, (chosen.cert, chosen.key) if chosen.cert and chosen.key else None,
        not chosen.skip_verify, chosen.connect_s, chosen.read_s, chosen.node_s,
    )  # fmt: skip
    notices = []
    is_encrypted = connection.endpoint.startswith("https:")
    if is_encrypted:
        check_tls(connection)
        notices += [f"notice: {notice}" for notice in chosen.notices]
    if is_encrypted and chosen.skip_verify:
        notices.append("notice: the cluster's certificate is not verified; whoever is in between can read the token")
    elif token and not is_encrypted:
        notices.append(f"notice: the token goes to {connection.endpoint} unencrypted")
    return connection, notices


def spool_options(settings: Settings, chosen: PullSettings) -> SpoolOptions:
    """Where the logs go: the folder that is named, else one beside the database."""
    folder = chosen.out or f"{os.path.splitext(os.path.abspath(settings.base_path))[0]}-spool"
    return SpoolOptions(folder, chosen.max_spool, chosen.node_count)


def remote_folder(settings: Settings) -> str:
    """Where copies of worker logs of other hosts go: beside the database."""
    return f"{os.path.splitext(os.path.realpath(settings.base_path))[0]}-remote"


def make_room(folder: str, settings: Settings, chosen: PullSettings, now: datetime) -> tuple[int, int]:
    """Removes old files of a spool that the database holds; how many, and their bytes."""
    with contextlib.suppress(SpoolBusyError):  # the pull that has begun meanwhile will make room
        return clean(
            folder, settings.lake or settings.db_path,
            keep_days=chosen.keep_days, max_bytes=chosen.max_spool, now=now,
        )  # fmt: skip
    return 0, 0
