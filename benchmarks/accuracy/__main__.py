"""`python -m benchmarks.accuracy score PLACE…` says how often reports are right; also compares, fits, freezes, records.

A PLACE is an incident (a folder with truth.toml), a folder of incidents, or an archive of them (NAME.tar.xz).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy.compare import ask, differences
from benchmarks.accuracy.freeze import freeze
from benchmarks.accuracy.places import incidents, logs
from benchmarks.accuracy.score.ask import kept, report_of, reports
from benchmarks.accuracy.score.fit import fitted_rows
from benchmarks.accuracy.score.judge import judge
from benchmarks.accuracy.score.mistakes import Judgement, Mistake
from benchmarks.accuracy.score.narrow import narrowed
from benchmarks.accuracy.score.tables import Scored, summary
from benchmarks.accuracy.score.together import judged_together
from benchmarks.accuracy.score.truth import read_truth
from benchmarks.accuracy.score.weights import fitted_table, hypotheses


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a verb; 1 if anything is not right or differs."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="aiscorr-accuracy-") as unpacked:
            return _run(given, Path(unpacked))
    except BrokenPipeError:  # whoever reads the output has seen enough
        return 0
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _run(given: argparse.Namespace, unpacked: Path) -> int:
    if given.verb == "score":
        return _score(given, unpacked)
    if given.verb == "fit":
        scored = _scored(given, incidents(given.places, unpacked, given.every))
        print(fitted_rows(answer for one in scored for answer in one.judgement.answers))
    elif given.verb == "weights":
        places = incidents(given.places, unpacked, given.every)
        told = [(read_truth(folder), report) for folder, report in zip(places, kept(given.kept, places), strict=True)]
        known = [one for truth, report in told if not isinstance(report, str) for one in hypotheses(report, truth)]
        print(fitted_table(known))
    elif given.verb == "ask":
        ask(given.aiscorr, given.places, given.out, given.every, given.jobs)
    elif given.verb == "differences":
        found = differences(given.before, given.after)
        print("\n".join([*found, f"{len(found)} differences"]))
        return int(bool(found))
    elif given.verb == "freeze":
        print(f"{len(freeze(given.places, given.out, unpacked, given.count))} incidents in {given.out}")
    else:
        from benchmarks.accuracy.record.store_run import listing, record

        if given.list:
            print(listing(given.only, given.subject))
        else:
            return record(given.out, given.only, given.subject, given.jobs, given.python)
    return 0


def _score(given: argparse.Namespace, unpacked: Path) -> int:
    found = incidents(given.places, unpacked, given.every)
    if given.way == "narrow":
        return _print_flips(narrowed(found, given.jobs))
    if given.way == "together":
        report = report_of([folder for incident in found for folder in logs(incident)])
        judged, others = judged_together(report, [read_truth(incident) for incident in found])
        print(f"failures of other jobs: {', '.join(others) or 'none'}")
        return _print_flips(judged) or int(bool(others))
    scored = []
    for one in _scored(given, found):
        print(one, flush=True)
        scored.append(one)
    print(f"\n{summary(scored)}")
    return int(any(one.judgement.mistakes for one in scored))


def _scored(given: argparse.Namespace, found: Sequence[Path]) -> Iterator[Scored]:
    """Every incident with the judgement of its report, as it is made."""
    if given.way == "archives":
        without = [incident.name for incident in found if not (incident / "ais-archives").is_dir()]
        sys.stderr.write("".join(f"skipped {name}: no ais-archives\n" for name in without))
        found = [incident for incident in found if incident.name not in without]
    if given.kept is not None:
        said = kept(given.kept, found)
    else:
        ais = "ais-archives" if given.way == "archives" else "ais"
        said = reports([[incident] if given.way == "all" else logs(incident, ais) for incident in found], given.jobs)
    for incident, report in zip(found, said, strict=True):
        truth = read_truth(incident)
        yield Scored(truth, Judgement((Mistake("error", report),)) if isinstance(report, str) else judge(report, truth))


def _print_flips(found: Iterator[tuple[str, list[str]]] | Sequence[tuple[str, list[str]]]) -> int:
    count = wrong = 0
    for name, words in found:
        print(f"{'BAD' if words else 'ok '} {name:44} {'; '.join(words)}".rstrip(), flush=True)
        count, wrong = count + 1, wrong + bool(words)
    print(f"{count - wrong} of {count} right")
    return int(bool(wrong))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    score = verbs.add_parser("score", help="ask aiscorr about incidents and hold its reports against the truth")
    ways = score.add_mutually_exclusive_group()
    for way, words in (
        ("all", "each incident whole, with README, truth and whatever lies there"),
        ("archives", "ais-archives/ in place of ais/, of the incidents that have it"),
        ("together", "all incidents in one database"),
        ("narrow", "each incident without either side, each AIStore node, each file of the job: no verdict may flip"),
    ):
        ways.add_argument(f"--{way}", dest="way", action="store_const", const=way, help=words)
    _kept(ways)
    _places(score)
    fit = verbs.add_parser("fit", help="rows of the view confidence_step, from the reports of incidents")
    fit.set_defaults(way=None)
    _kept(fit)
    _places(fit)
    weights = verbs.add_parser("weights", help="what the data says of the weights in sql/facts/rule_term.csv")
    weights.add_argument("--kept", type=Path, metavar="FILE", required=True, help="reports that `compare ask` kept")
    _places(weights)
    compare = verbs.add_parser("compare", help="what two versions of aiscorr say of the same incidents")
    steps = compare.add_subparsers(dest="verb", required=True)
    asking = steps.add_parser("ask", help="keep the reports of one version")
    asking.add_argument("aiscorr", help="the program")
    asking.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSONL, a line an incident")
    _places(asking)
    differing = steps.add_parser("differences", help="what differs between two kept files; exit 1 if anything does")
    differing.add_argument("before", type=Path)
    differing.add_argument("after", type=Path)
    freezing = verbs.add_parser("freeze", help="choose generated incidents and pack them into one archive")
    freezing.add_argument("--out", type=Path, required=True)
    freezing.add_argument("--count", type=int, default=300)
    freezing.add_argument("places", type=Path, nargs="+", metavar="PLACE")
    _recording(verbs.add_parser("record", help="run real torchrun jobs, hurt them, store their output with its truth"))
    return parser


def _kept(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--kept", type=Path, metavar="FILE", help="reports that `compare ask` kept, instead of asking")


def _places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th incident of a place")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="incidents at a time")
    parser.add_argument("places", type=Path, nargs="+", metavar="PLACE")


def _recording(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--out", type=Path, help="folder to write below")
    place.add_argument("--list", action="store_true", help="print the scenarios instead of recording them")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="scenarios; default: all")
    parser.add_argument("--subject", nargs="+", default=[], metavar="NAME", help="all scenarios of these subjects")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time")
    parser.add_argument("--python", default=sys.executable, help="a Python with torch and the clients")


if __name__ == "__main__":
    sys.exit(main())
