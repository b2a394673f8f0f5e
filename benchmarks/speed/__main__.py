"""`python -m benchmarks.speed corpus` makes the corpora, `… run` measures and prints the table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.ais_corpus import write_ais_corpus, write_archive
from benchmarks.speed.cases import CASES, HEAD, Corpora, show
from benchmarks.speed.commands import command_rows
from benchmarks.speed.scale import scale_rows
from benchmarks.speed.whole import HEAD as WHOLE_HEAD
from benchmarks.speed.whole import process_line, whole_rows, write_corpora
from benchmarks.speed.worker_corpus import write_worker_corpus

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_STORM_SHARE = 0.8


def byte_count(text: str) -> int:
    """`128MiB` → 134217728."""
    match = re.fullmatch(r"(\d+)(|[KMG]iB)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"not a size: {text} (128MiB, 1GiB)")
    return int(match.group(1)) * _UNITS[match.group(2)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes corpora or measures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    corpus = verbs.add_parser("corpus", help="make the corpora")
    corpus.add_argument("--out", type=Path, required=True)
    corpus.add_argument("--data", type=Path, help="a folder with recorded logs; makes the corpora of others' logs only")
    corpus.add_argument("--size", type=byte_count, default=byte_count("128MiB"), help="of each corpus; 1GiB is meant")
    run = verbs.add_parser("run", help="measure and print the table")
    run.add_argument("--corpus", type=Path, required=True)
    run.add_argument("--rounds", type=int, default=3, help="the median of so many rounds counts")
    run.add_argument("--only", choices=sorted(CASES), nargs="*", help="some cases instead of all")
    whole = verbs.add_parser("whole", help="measure whole ingests of others' logs beside ripgrep")
    whole.add_argument("--corpus", type=Path, required=True)
    whole.add_argument("--rounds", type=int, default=3, help="the median of so many rounds counts")
    whole.add_argument("--processes", action="store_true", help="measure two processes beside one instead")
    scale = verbs.add_parser("scale", help="measure incidents of many ranks and counters, which are made for it")
    scale.add_argument("--rounds", type=int, default=3, help="the median of so many rounds counts")
    commands = verbs.add_parser("commands", help="measure whole commands, as multiples of the start of Python")
    commands.add_argument("--rounds", type=int, default=5, help="the median of so many rounds counts")
    commands.add_argument("--incident", type=Path, help="a folder with ais/ and workers/, else the bundled incident")
    given = parser.parse_args(arguments)
    if given.verb == "corpus":
        if given.data is None:
            _make(given.out, given.size)
        else:
            write_corpora(given.data, given.out, given.size)
        return
    if given.verb == "whole":
        print(WHOLE_HEAD)
        lines = (
            [process_line(given.corpus, given.rounds)] if given.processes else whole_rows(given.corpus, given.rounds)
        )
        for line in lines:
            print(line, flush=True)
        return
    if given.verb == "commands":
        print("| command | seconds | × the start of Python with duckdb and pyarrow |\n|---|---|---|")
        for line in command_rows(given.rounds, given.incident):
            print(line, flush=True)
        return
    print(HEAD)
    if given.verb == "scale":
        for row in scale_rows(given.rounds):
            print(show(row), flush=True)
        return
    for name in given.only or CASES:
        for row in CASES[name](Corpora(given.corpus), given.rounds):
            print(show(row), flush=True)


def _make(folder: Path, size: int) -> None:
    corpora = Corpora(folder)
    write_worker_corpus(corpora.worker, size)
    write_worker_corpus(corpora.storm, size // 16, event_share=_STORM_SHARE)
    write_ais_corpus(corpora.ais, size)
    write_archive(corpora.ais, corpora.archive)
    print(f"{folder}: worker, storm, ais and ais.tar.gz")


if __name__ == "__main__":
    main()
