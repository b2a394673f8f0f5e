"""`python -m benchmarks.accuracy generate --out DIR`, `… record --out DIR`, `… score --in DIR`, `… fit --in DIR…`,
`… robust --in DIR`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.generate.incident import write_incident
from benchmarks.accuracy.generate.parts import PARTS
from benchmarks.accuracy.generate.plan import draw_plan


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes incidents, scores what is said of them, fits a confidence, or takes evidence away piece by piece."""
    given = _parser().parse_args(arguments)
    if given.verb == "generate":
        for number in range(given.first, given.first + given.count):
            print(write_incident(draw_plan(given.seed, number, given.part), given.out))
    elif given.verb == "score":
        from benchmarks.accuracy.score.ask import opinions
        from benchmarks.accuracy.score.tables import report

        print(report(opinions(given.folder, given.jobs, anew=not given.again, kept=given.answers)))
    elif given.verb == "fit":
        from benchmarks.accuracy.score.ask import opinions
        from benchmarks.accuracy.score.fit import report_of_fit

        kept = [one for folder in given.folders for one in opinions(folder, 1, anew=False)]
        print(report_of_fit([one for opinion in kept for one in opinion.judged]))
    elif given.verb == "record":
        from benchmarks.accuracy.record.store_run import record

        sys.exit(record(given.out, given.only, given.jobs, given.python, given.held))
    else:
        from benchmarks.accuracy.score.robust import report_of_robustness

        print(report_of_robustness(given.folder, given.jobs, given.seed, given.count))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("generate", help="write incidents with known truth")
    make.add_argument("--out", type=Path, required=True)
    make.add_argument("--seed", type=int, default=1)
    make.add_argument("--count", type=int, default=200)
    make.add_argument("--first", type=int, default=0, help="number of the first incident")
    make.add_argument("--part", choices=sorted(PARTS), default="tune")
    score = verbs.add_parser("score", help="ask aiscorr and simpler tools, print tables")
    score.add_argument("--in", type=Path, required=True, dest="folder")
    score.add_argument("--jobs", type=int, default=2)
    score.add_argument("--answers", type=Path, help="where the answers are kept; default: answers.json in the folder")
    score.add_argument("--again", action="store_true", help="tables of the answers that are kept, without asking")
    fit = verbs.add_parser("fit", help="how sure answers of a score may be, by the kept answers of some folders")
    fit.add_argument("--in", type=Path, required=True, nargs="+", dest="folders")
    robust = verbs.add_parser("robust", help="take evidence away, see that no verdict turns round")
    robust.add_argument("--in", type=Path, required=True, dest="folder")
    robust.add_argument("--jobs", type=int, default=2)
    robust.add_argument("--seed", type=int, default=1)
    robust.add_argument("--count", type=int, default=20, help="incidents")
    record = verbs.add_parser("record", help="run real torchrun jobs, hurt them, store their output with its truth")
    record.add_argument("--out", type=Path, required=True)
    record.add_argument("--only", nargs="+", default=[], metavar="NAME", help="scenarios; default: all")
    sets = ("first", "second", "third", "fourth", "fifth", "all")
    record.add_argument("--set", choices=sets, default="all", dest="held", help="which scenarios")
    record.add_argument("--jobs", type=int, default=1, help="scenarios at a time")
    record.add_argument("--python", default=sys.executable, help="a Python with torch and the clients")
    return parser


if __name__ == "__main__":
    main()
