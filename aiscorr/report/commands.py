"""Finds the commands that running text advises, so that they are shown whole and as what is to be copied."""

from __future__ import annotations

import re

#: What `aiscorr` is told to do, with values in quotes or angle brackets; then other programs with their flags.
COMMAND = re.compile(
    r"""aiscorr (?:query (?:"[^"]*"|'[^']*'|@\w+)(?: -p \w+=[\w.:-]*\w)*|(?:report|lines|explain) [\w.:-]*\w"""
    r"""|verify\b|collect \w+|ingest (?:--timezone )?<[^>]*>(?: <[^>]*>)?)"""
    r"""|\b(?:nvidia-smi|dmesg|journalctl|py-spy|sacct|squeue)(?: dump)?"""
    r"""(?: --?[a-zA-Z][\w-]*(?: [A-Z]{3,}| <[^>]*>)?)+"""
    r"""|\bkubectl (?:describe pod|logs --previous)"""
    r"""|\bais (?:object (?:show|ls|validate)|show \w+|bucket props show|log get cluster)"""
    r"""(?: (?:\w+://|\./)\S*\w)?(?: --props all)?"""
)
