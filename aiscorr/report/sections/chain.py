"""How it came to this: the x-get-batch chain from the node where it began to the rank, with arrows."""

from __future__ import annotations

from datetime import timedelta

from aiscorr.report.blocks import Block, Paragraph, Places, Steps, clock, clock_between, ranges, shorten
from aiscorr.report.document import Chain, ChainStep, CitedLine, FailureReport, RootCause

TITLE = "Root-cause chain"
ORDER = 50
EMPTY = "No chain leads from a node of AIStore to this failure."

_LIMIT = 14
_LATE = timedelta(seconds=30)


def blocks(failure: FailureReport, places: Places) -> list[Block]:
    """The chain of the verdict with its steps; without one, the lines that carry the verdict."""
    chain = next((chain for chain in failure.chains if chain.is_verdict), None)
    result: list[Block] = []
    if chain is not None:
        result.append(Paragraph(_head(chain)))
        steps = [step for step in chain.steps if step.step != "cleanup" and not _is_late(step, failure)]
        items = [_step(step, places) for step in steps[:_LIMIT]]
        if failure.root_causes:
            items += _client(failure.root_causes[0], chain, places)
        items.append((f"rank {ranges(failure.culprit_ranks)}", failure.statement, ""))
        result.append(Steps(tuple(items)))
        hidden = len(chain.steps) - min(len(steps), _LIMIT)
        if hidden:
            query = f"select * from get_batch_chain_step where chain_id = '{chain.chain_id}' order by step_no"
            result.append(
                Paragraph(
                    f'{hidden} more steps, most of them after the rank had stopped: aiscorr query "{query}"', "dim"
                )
            )
    elif failure.root_causes and failure.root_causes[0].supports:
        result.append(Steps(tuple(_line(line, places) for line in failure.root_causes[0].supports)))
    others = [chain for chain in failure.chains if not chain.is_verdict]
    if others:
        result.append(
            Paragraph(
                "Other chains that reached a culprit: " + ", ".join(chain.chain_id for chain in others[:6]) + ".", "dim"
            )
        )
    return result


def _line(line: CitedLine, places: Places) -> tuple[str, str, str]:
    head = f"{clock_between(line.at, line.latest_at)} {line.why}".strip()
    return head, shorten(line.text or ""), places.line(line.path, line.line_no)


def _is_late(step: ChainStep, failure: FailureReport) -> bool:
    stopped = failure.hang_started_at or failure.ended_at
    return step.at is not None and stopped is not None and step.at > stopped + _LATE


def _head(chain: Chain) -> str:
    parts = [
        f"{chain.chain_id}",
        f"xaction {chain.xid}" if chain.xid else "",
        f"requests {', '.join(chain.wids[:4])}" if chain.wids else "",
        f"assembled at target {chain.designated_node_id} (the designated target)" if chain.designated_node_id else "",
        f"began at {chain.suspect_node_id}" if chain.suspect_node_id else "where it began is not said",
    ]
    return ", ".join(part for part in parts if part) + "."


def _step(step: ChainStep, places: Places) -> tuple[str, str, str]:
    times = f" × {step.times}" if step.times > 1 else ""
    wid = f" {step.wid}" if step.wid else ""
    head = f"{clock(step.at, is_exact=step.is_exact)} {step.node_id or ''} {step.step.replace('_', ' ')}{wid}{times}"
    mark = "" if step.check in (None, "verified") else f" [{step.check}]"
    return head, shorten(step.text), places.line(step.path, step.line_no) + mark


def _client(cause: RootCause, chain: Chain, places: Places) -> list[tuple[str, str, str]]:
    known = {(step.path, step.line_no) for step in chain.steps}
    return [
        (line.why, shorten(line.text or ""), places.line(line.path, line.line_no))
        for line in cause.supports
        if line.why.startswith("the error of rank") and (line.path, line.line_no) not in known
    ]
