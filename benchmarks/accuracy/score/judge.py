"""Judges what a report says of an incident: every failure that was, found or missed, and every one that was not.

Where evidence was taken from a generated incident a narrower answer is right as well: no failure, undetermined, fewer
ranks or nodes. A false one never is.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.accuracy.score.evidence import CitedFiles
from benchmarks.accuracy.score.mistakes import Answer, Judgement, Mistake, claimed, summed
from benchmarks.accuracy.score.pairing import false_alarms, paired
from benchmarks.accuracy.score.soft import judge_soft
from benchmarks.accuracy.score.truth import Expected, Json, Truth

#: Classes in which storage may have had a part.
_STORAGE_LIKE = frozenset({"storage_io", "data_loading_stall", "network"})


def judge(report: Json, truth: Truth) -> Judgement:
    """What is right and wrong in the JSON of a report; its paths may be relative to the incident or to its parent."""
    failures = report.get("failures", [])
    files = CitedFiles((truth.folder, truth.folder.parent, Path.cwd()))
    if truth.soft is not None and not truth.is_generated:
        return judge_soft(failures, truth.soft, files)
    if not truth.expected:
        return summed(false_alarms(failures, "false alarm"), invented_count=len(failures))

    def faults(expected: Expected, failure: Json) -> list[Mistake]:
        if truth.is_generated:
            return _allowed(truth, expected, stated_faults(expected, failure, files, is_strict=False))
        found = stated_faults(expected, failure, files)
        if expected.job_id is not None and str(failure.get("job_id")) != expected.job_id:
            found.append(Mistake("wrong", f"job {failure.get('job_id')}, want {expected.job_id}"))
        return found

    pairs, free = paired(failures, truth.expected, faults)
    judged, answers = false_alarms(free, "a failure too many"), []
    for expected, said in pairs:
        if said is not None:
            judged.append(claimed(said, faults(expected, said)))
        else:
            missed = Mistake("missed", f"job {expected.job_id}: no failure")
            judged.append(([] if truth.hides_failure else [missed], []))
        answers.append(Answer(expected, said, tuple(judged[-1][0])))
    return summed(judged, answers, len(free))


def stated_faults(expected: Expected, failure: Json, files: CitedFiles, *, is_strict: bool = True) -> list[Mistake]:
    """The mistakes of one reported failure; strict as to its evidence."""
    found = _culprits(expected, failure) + _class(expected, failure) + _storage(expected, failure)
    return found + _nodes(expected, failure) + files.mistakes(failure, is_strict=is_strict)


def _allowed(truth: Truth, expected: Expected, found: list[Mistake]) -> list[Mistake]:
    """Without what a generated incident does not ask for: what was taken away, a verdict that it does not state."""
    excused = {"modest", "missed"} if truth.may_be_undetermined else set()
    if expected.verdict is None:
        excused.add("blamed")
    return [one for one in found if one.kind not in excused]


def _culprits(expected: Expected, failure: Json) -> list[Mistake]:
    if expected.culprits is None:
        return []
    said, wanted = set(failure.get("culprit_ranks", [])), set(expected.culprits)
    words = f"culprits {sorted(said)}, want {sorted(wanted)}"
    return [Mistake("modest" if said < wanted else "wrong", words)] if said != wanted else []


def _class(expected: Expected, failure: Json) -> list[Mistake]:
    name = failure.get("failure_class")
    if name in expected.classes:
        return []
    words = f"class {name}, want {sorted(set(expected.classes))}"
    return [Mistake("modest" if name == "undetermined" else "wrong", words)]


def _storage(expected: Expected, failure: Json) -> list[Mistake]:
    verdict, confidence, found = failure.get("storage_verdict"), failure.get("confidence"), []
    if expected.verdict is None:
        if verdict == "guilty" and not _STORAGE_LIKE & set(expected.classes):
            found.append(Mistake("blamed", f"storage guilty {confidence}"))
    elif verdict not in expected.verdicts:
        turned = {("innocent", "guilty"): "blamed", ("guilty", "innocent"): "acquitted"}
        kind = turned.get((expected.verdict, str(verdict))) or ("modest" if verdict == "undetermined" else "wrong")
        found.append(Mistake(kind, f"storage {verdict} {confidence}, want {expected.verdict}"))
    if failure.get("failure_class") == "storage_io" and verdict == "innocent":
        found.append(Mistake("wrong", f"class storage_io with storage innocent {confidence}"))
    return found


def nodes_of(failure: Json) -> set[str]:
    """The AIStore nodes that are held responsible."""
    return {node.get("node_id") for node in failure.get("ais_nodes", [])}


def _nodes(expected: Expected, failure: Json) -> list[Mistake]:
    if expected.nodes is None:
        return []
    said, wanted, found = nodes_of(failure), set(expected.nodes), []
    if wanted - said:
        found.append(Mistake("missed", f"nodes {sorted(wanted - said)} not named"))
    if said - wanted:
        found.append(Mistake("wrong", f"nodes {sorted(said - wanted)} blamed"))
    return found
