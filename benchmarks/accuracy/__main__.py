"""`python -m benchmarks.accuracy generate --out DIR`, then `python -m benchmarks.accuracy score --in DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.generate.incident import write_incident
from benchmarks.accuracy.generate.plan import PARTS, draw_plan


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes incidents or scores what is said of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("generate", help="write incidents with known truth")
    make.add_argument("--out", type=Path, required=True)
    make.add_argument("--seed", type=int, default=1)
    make.add_argument("--count", type=int, default=200)
    make.add_argument("--part", choices=PARTS, default="tune")
    given = parser.parse_args(arguments)
    if given.verb == "generate":
        for number in range(given.count):
            print(write_incident(draw_plan(given.seed, number, given.part), given.out))


if __name__ == "__main__":
    main()
