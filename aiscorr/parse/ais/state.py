"""What a reader of one AIStore log knows while it reads: the calendar day, the run of the daemon, who writes."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field

from aiscorr.model import FileSummary
from aiscorr.parse.search.word_bits import WordBits
from aiscorr.parse.stamps import DAY_NS, SECOND_NS

#: Where an id is from, words of which one stands in every match, and the regex.
_ID_RULES = (
    ("title", (b"], Version",), re.compile(rb"Node ([tp])\[([\w-]+)\], Version")),
    ("start_line", (b"ed tid t[",), re.compile(rb"(?:loaded|generated) tid (t)\[([\w-]+)\]")),
    ("start_line", (b"Initialized p[",), re.compile(rb"Initialized (p)\[([\w-]+)\]")),
    ("start_line", (b".gmm[",), re.compile(rb"memory: ()([\w-]+)\.gmm\[")),
    ("self_mention", (b".go:",), re.compile(rb"\((?:stack: \[)?([tp])\[([\w-]+)\]: \w+\.go:\d+")),
    (
        "self_mention",
        (b"t[", b"p["),
        re.compile(rb"^([tp])\[([\w-]+)\](?:\[g\d+,v\d+\]|:| run: | open shared-dm| starting rebalance| CPU util)"),
    ),
)
_WORDS = WordBits([*(word for _, words, _ in _ID_RULES for word in words), b"Smap v", b"Version ", b"Pod info"])
_SELF_IDS = [(source, _WORDS.bits(*words), regex) for source, words, regex in _ID_RULES]
_MAY_BE_UUID, _MAY_BE_VERSION, _MAY_BE_POD = map(_WORDS.bits, (b"Smap v", b"Version ", b"Pod info"))
_ID_ORDER = ("title", "start_line", "self_mention")
_UUID = re.compile(rb"Smap v\d+\[([\w-]{4,}),")
_VERSION = re.compile(rb"\bVersion (\d+\.\d+(?:\.\w+)*)")
_POD = re.compile(rb"Pod info: name: \"?([\w.-]+)")
_HALF_DAY_NS = DAY_NS // 2
_JITTER_NS = 10 * SECOND_NS


@dataclass
class AisState:
    """Everything needed to read on in the middle of a file; times in nanoseconds.

    `shift_ns`: whole days between the guessed dates of a file that begins undated and the true ones. Its lines keep
    the guessed dates to its end, so that one shift moves them all.
    `role`: t or p where the name of the file says which daemon wrote it. A proxy repeats the errors of targets word for
    word, `t[…]: …` in front, so that a node of the other role is never the writer.
    """

    process_no: int = 0
    day_ns: int = 0
    last_ns: int = -1
    line_no: int = 1
    is_dated: bool = False
    is_shift_known: bool = False
    shift_ns: int = 0
    role: str = ""
    ids: dict[str, dict[str, int]] = field(default_factory=dict)
    uuids: dict[str, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)

    def copy(self) -> AisState:
        """The state as it is now."""
        found = object.__new__(AisState)
        found.__dict__.update(self.__dict__)  # replace() takes ten times as long, once for each block
        found.ids = {source: dict(counts) for source, counts in self.ids.items()}
        found.uuids, found.facts = dict(self.uuids), dict(self.facts)
        return found

    def dump(self) -> str:
        """As JSON, for ingested_file.resume_state."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> AisState:
        """From JSON."""
        return cls(**json.loads(text))

    def place(self, of_day_ns: int) -> tuple[int, bool]:
        """The moment of a time of day, and whether the clock jumped back.

        A step back of more than half a day is midnight: after 23:59:59 comes 00:00:01 of the next day.
        A step back of up to 10 s is two goroutines writing at once. Anything between is a clock that
        was set back: the day stays. Example: 14:10 then 13:10 → same day, jumped.
        """
        moment = self.day_ns + of_day_ns
        jumped = False
        if self.last_ns >= 0 and moment < self.last_ns - _JITTER_NS:
            if self.last_ns - moment > _HALF_DAY_NS:
                self.day_ns += DAY_NS
                moment += DAY_NS
            else:
                jumped = True
        elif self.last_ns >= 0 and moment - self.last_ns > DAY_NS - _JITTER_NS and of_day_ns > DAY_NS - _JITTER_NS:
            # a line of just before midnight that was written after the first one of the new day
            moment -= DAY_NS
            return moment, False
        self.last_ns = moment
        return moment, jumped

    def days_to(self, moment_ns: int) -> int:
        """Whole days by which the dates so far must be moved to end, in less than a day, before that moment.

        Example: the last line is guessed at 24 December 01:00, a header says 20 November 14:00 → -34 days.
        """
        return (moment_ns + _JITTER_NS - self.last_ns) // DAY_NS

    def start_day(self, moment_ns: int) -> None:
        """A header told the date and time; the clock goes on from there."""
        self.day_ns = moment_ns // DAY_NS * DAY_NS
        self.last_ns = moment_ns - SECOND_NS
        self.is_dated = True

    def note_identity(self, text: bytes) -> None:
        """Takes the writer's id, role, cluster, version and pod from a line, where it tells them."""
        held = _WORDS.of(text)
        for source, words, regex in _SELF_IDS if held else ():
            match = regex.search(text) if held & words else None
            if match is not None and self._may_be_own(match.group(1).decode()):
                key = f"{match.group(1).decode()}:{match.group(2).decode()}"
                counts = self.ids.setdefault(source, {})
                counts[key] = counts.get(key, 0) + 1
        uuid = _UUID.search(text) if held & _MAY_BE_UUID else None
        if uuid is not None:
            name = uuid.group(1).decode()
            self.uuids[name] = self.uuids.get(name, 0) + 1
        version = _VERSION.search(text) if held & _MAY_BE_VERSION else None
        if version is not None:
            self.facts["version"] = version.group(1).decode()
        pod = _POD.search(text) if held & _MAY_BE_POD else None
        if pod is not None:
            self.facts["pod"] = pod.group(1).decode()

    def _may_be_own(self, letter: str) -> bool:
        return not letter or not self.role or letter == self.role

    def self_id(self, other: str | None) -> str | None:
        """The writer's id as its title told it, else a start line, else a mention of itself; else the other one."""
        for source in _ID_ORDER:
            counts = self.ids.get(source)
            if counts:
                return _most_told(counts).partition(":")[2]
        return other

    def describe(self, summary: FileSummary) -> None:
        """Writes who the writer is into the file's summary."""
        role = ""
        for source in _ID_ORDER:
            counts = self.ids.get(source)
            if not counts:
                continue
            letter, _, node_id = _most_told(counts).partition(":")
            role = role or letter
            if summary.node_id is None:
                summary.node_id, summary.node_id_source = node_id, source
        roles = Counter({k[0]: n for counts in self.ids.values() for k, n in counts.items() if k[0] in "tp"})
        if roles:
            role = _most_told(roles)
        summary.node_role = {"t": "target", "p": "proxy"}.get(role, summary.node_role)
        if self.uuids and not summary.is_cluster_given:
            summary.cluster = _most_told(self.uuids)
        summary.host = self.facts.get("host", summary.host)
        summary.pod = self.facts.get("pod", summary.pod)
        summary.version = self.facts.get("version", summary.version)


def _most_told(counts: dict[str, int]) -> str:
    """What was told most often, of several the first."""
    return max(counts, key=counts.__getitem__)
