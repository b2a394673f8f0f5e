"""The incidents of the accuracy benchmark: kinds that are held back are written, parts stay what they were."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from greetings import GREETING

from benchmarks.accuracy.generate.incident import write_incident
from benchmarks.accuracy.generate.kinds import KINDS
from benchmarks.accuracy.generate.noise import OF_RANKS
from benchmarks.accuracy.generate.parts import PARTS
from benchmarks.accuracy.generate.plan import Plan, draw_plan
from benchmarks.accuracy.generate.scene import Setting
from benchmarks.accuracy.score.truth import Truth, read_truth
from fixtures.generator.draw import Draw
from fixtures.generator.model import Params
from fixtures.generator.moment import utc
from fixtures.generator.releases import TORCH
from fixtures.generator.trainend import JobRun

LATER = ["third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"]
LATER += ["thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"]
LATER += ["twenty_first", "twenty_second", "twenty_third", "twenty_fourth", "twenty_fifth", "twenty_sixth"]
LATER += ["twenty_seventh", "twenty_eighth", "twenty_ninth", "thirtieth", "thirty_first", "thirty_second"]
LATER += ["thirty_third", "thirty_fourth", "thirty_fifth", "thirty_sixth"]
#: All kinds of the newest part, and some of those that stand as they are: writing one takes seconds.
_OLDER = sorted(kind.name for kind in KINDS.values() if kind.held in LATER[:-1])
HELD = [*_OLDER[::48], *sorted(kind.name for kind in KINDS.values() if kind.held == LATER[-1])]
RECORD = re.compile(r"[IWE] \d\d:\d\d:\d\d\.\d{6} ([A-Za-z_0-9]+:\d+ )?\S")


@cache
def plans_of(part: str) -> tuple[Plan, ...]:
    """The first incidents of a part; most tests need no others."""
    return tuple(draw_plan(5, number, part) for number in range(900))


def plan_of(kind: str) -> Plan:
    """The first small incident of a kind of its part, with all its evidence."""
    part = KINDS[kind].held
    plans = chain(plans_of(part), (draw_plan(5, number, part) for number in range(900, 20_000)))
    found = next(plan for plan in plans if plan.kind.name == kind and plan.params.ranks <= 16)
    return replace(found, taken="nothing")


@pytest.mark.parametrize("kind", HELD)
def test_kind_is_written(kind: str, tmp_path: Path) -> None:
    """An incident of a kind that is held back has a truth of its side, lines that carry it, and well-formed logs."""
    plan = plan_of(kind)
    truth = read_truth(write_incident(plan, tmp_path))
    (expected,) = truth.expected[:1]
    assert expected.verdict == ("guilty" if plan.kind.side == "storage" else "innocent")
    assert bool(expected.nodes) == (plan.kind.side == "storage") or expected.nodes is None
    for path, line_no, text in truth.witnesses:
        assert text in (truth.folder / path).read_bytes().decode().split("\n")[line_no - 1]
    for file in (truth.folder / "ais").rglob("ais*.INFO.*"):
        text = file.read_text("utf-8")
        lines = [line for line in text.split("\n") if line[1:2] == " "]
        assert lines or text.startswith("Rotated")
        assert all(RECORD.match(line) for line in lines if not line.startswith((" Y:", " Victory")))
    assert any(file.stat().st_size for file in (truth.folder / "workers").rglob("*") if file.is_file())


@pytest.mark.parametrize("part", LATER)
def test_held_back_kinds_are_of_both_sides(part: str) -> None:
    """About half of the kinds of a part are faults of storage, and no other part has one of them."""
    held = {kind.name for kind in KINDS.values() if kind.held == part}
    storage = [name for name in held if KINDS[name].side == "storage"]
    assert len(held) >= 14 and 0.4 <= len(storage) / len(held) <= 0.62
    for other in PARTS.keys() - {part}:
        assert not {plan.kind.name for plan in plans_of(other)[:200]} & held


@pytest.mark.parametrize("part", sorted({kind.held for kind in KINDS.values() if not kind.trains} & set(LATER)))
def test_nobody_speaks_in_a_job_that_never_starts(part: str) -> None:
    """An incident whose job never comes to a step has no noise of its ranks."""
    plans = [plan for plan in plans_of(part) if not plan.kind.trains]
    assert len(plans) >= 5 and any(plan.setting.noise for plan in plans)
    assert not {name for plan in plans for name in plan.setting.noise} & set(OF_RANKS)


def test_a_clock_of_its_own_stands_in_the_log(tmp_path: Path) -> None:
    """A target whose clock is ahead opened its log later than all others, by its own clock."""
    truth = read_truth(write_incident(replace(plan_of("clock_ahead"), setting=Setting()), tmp_path))
    (wrong,) = truth.expected[0].nodes or ()
    started = {file.parent.name: file.name.split(".")[3] for file in (truth.folder / "ais").rglob("ais*.INFO.*")}
    assert all(stamp < started[wrong] for node, stamp in started.items() if node != wrong)


def test_a_kind_has_no_noise_that_contradicts_it() -> None:
    """What needs storage to the end is not drawn beside a cluster that is deleted, nor a restart beside another."""
    plans = [plan for plan in plans_of("fifth") if plan.kind.without]
    assert len({plan.kind.name for plan in plans}) >= 3 and any(plan.setting.noise for plan in plans)
    assert not [plan.name for plan in plans if set(plan.setting.noise) & set(plan.kind.without)]


def test_a_kind_that_needs_a_newer_torch_has_one() -> None:
    """A monitor of the watchdog that names its reason does not show before the first PyTorch that has it."""
    plans = [plan for plan in plans_of("fifth") if plan.kind.torch_order]
    assert len(plans) >= 5
    assert all(plan.params.torch_release.order >= plan.kind.torch_order for plan in plans)


def test_a_cluster_that_speaks_tls_is_never_asked_without(tmp_path: Path) -> None:
    """Where a certificate runs out every address is one of TLS, in the logs and in the lines that carry the truth."""
    truth = read_truth(write_incident(replace(plan_of("certificate_runs_out"), setting=Setting()), tmp_path))
    text = "".join(
        file.read_text("utf-8") for file in truth.folder.rglob("*") if file.suffix != ".toml" and file.is_file()
    )
    assert "https://" in text and "http://" not in text and "HTTPConnection" not in text
    assert any("HTTPSConnectionPool" in line for _, _, line in truth.witnesses)


def test_a_proxy_that_is_behind_is_not_the_primary() -> None:
    """Who hears nothing of the primary is another proxy, and the culprit's host is one that uses it."""
    plans = [plan for plan in plans_of("sixth") if plan.kind.off_primary]
    assert len(plans) >= 5
    assert all(plan.params.culprit // plan.params.ranks_per_node % plan.params.proxies for plan in plans)


def test_a_target_that_is_upgraded_says_so(tmp_path: Path) -> None:
    """Where one target comes back with the next release, its new log has another version than all other logs."""
    plan = replace(plan_of("upgrade_half_way"), setting=Setting())
    truth = read_truth(write_incident(plan, tmp_path))
    (victim,) = truth.expected[0].nodes or ()
    versions: dict[str, set[str]] = {}
    for file in (truth.folder / "ais").rglob("ais*.INFO.*"):
        versions.setdefault(file.parent.name, set()).update(re.findall(r"Version (\S+),", file.read_text("utf-8")))
    own = versions.pop(victim)
    assert len(own) == 2 and all(len(said) == 1 and said < own for said in versions.values())


def test_two_halves_have_two_primaries(tmp_path: Path) -> None:
    """Where a cluster falls apart, each half gives the other up: two maps of one version name different primaries."""
    truth = read_truth(write_incident(replace(plan_of("split_in_halves"), setting=Setting()), tmp_path))
    text = "".join(file.read_text("utf-8") for file in (truth.folder / "ais").rglob("ais*.INFO.*"))
    maps = re.findall(r"new Smap v(\d+)\[\S+ p\[(\S+)\], t=(\d+)", text)
    last = max(int(version) for version, _, _ in maps)
    assert len({primary for version, primary, _ in maps if int(version) == last}) == 2


def test_a_target_that_does_not_start_says_why(tmp_path: Path) -> None:
    """Where a target ends itself at every start, each of its later logs ends with the same fatal error."""
    truth = read_truth(write_incident(replace(plan_of("comes_not_back"), setting=Setting()), tmp_path))
    (victim,) = truth.expected[0].nodes or ()
    texts = [file.read_text("utf-8") for file in sorted((truth.folder / "ais" / victim).glob("ais*.INFO.*"))]
    found = [re.search(r"(FATAL ERROR: .+)\n+$", text) for text in texts]
    assert len(found) >= 3 and found[0] is None and len({one and one[1] for one in found[1:]}) == 1 and found[1]


def said_by_workers(truth: Truth) -> str:
    """All worker logs of an incident."""
    return "".join(file.read_text("utf-8") for file in (truth.folder / "workers").rglob("*") if file.is_file())


def test_one_target_alone_announces_tls(tmp_path: Path) -> None:
    """Where one target speaks TLS before the others, its new log alone has such addresses, and clients ask it alone."""
    truth = read_truth(write_incident(replace(plan_of("one_speaks_tls"), setting=Setting()), tmp_path))
    (victim,) = truth.expected[0].nodes or ()
    said = {file.parent.name: file.read_text("utf-8") for file in (truth.folder / "ais").rglob("ais*.INFO.*")}
    assert [node for node, text in said.items() if re.search(r" access: \{\S+ \d+ https://", text)] == [victim]
    text = said_by_workers(truth)
    asked = set(re.findall(r"HTTPSConnectionPool\(host='(\S+)'", text))
    assert len(asked) == 1 and f"https://{asked.pop()}:" in said[victim]


def test_a_confirmed_write_is_lost_with_its_host(tmp_path: Path) -> None:
    """Where a shard is older than its checkpoint, one rank reads it of the victim, which was started anew since."""
    truth = read_truth(write_incident(replace(plan_of("confirmed_write_lost"), setting=Setting()), tmp_path))
    (victim,) = truth.expected[0].nodes or ()
    starts = [file.read_text("utf-8") for file in sorted((truth.folder / "ais" / victim).glob("ais*.INFO.*"))]
    assert len(starts) == 2 and starts[1].startswith("Started up") and "Terminated OK" not in starts[0]
    text = said_by_workers(truth)
    steps = dict(re.findall(r"reader: (shard-\d+)\.pt of step (\d+) from", text))
    assert len(set(steps.values())) == 2 and text.count("latest.json says") == 1


def test_clients_that_know_targets_by_name_print_no_address(tmp_path: Path) -> None:
    """Where clients know targets by name, no line of theirs has the address of one; the lost name is the victim's."""
    plan = plan_of("name_of_target_lost")
    truth = read_truth(write_incident(replace(plan, setting=Setting()), tmp_path))
    files = [file for file in (truth.folder / "workers").rglob("*") if file.is_file()]
    text = "".join(file.read_text("utf-8") for file in files)
    (victim,) = truth.expected[0].nodes or ()
    (log, *_) = (truth.folder / "ais" / victim).glob("aistarget.*.INFO.*")
    assert f"{log.name.split('.')[1]}." in text and not re.search(r"\b10(\.\d+){3}(:|', port=)51081", text)


def test_a_build_for_rocm_speaks_of_hip(tmp_path: Path) -> None:
    """An error of the device has the words of HIP in the logs and in the line that carries the truth."""
    plans = (draw_plan(4, number, "sixth") for number in range(20_000))
    found = next(one for one in plans if one.kind.name == "gpu_ecc_error" and one.params.torch_release.is_rocm)
    truth = read_truth(write_incident(replace(found, taken="nothing", setting=Setting()), tmp_path))
    files = [file for file in (truth.folder / "workers").rglob("*") if file.is_file()]
    text = "".join(file.read_text("utf-8") for file in files)
    assert "HIP error: uncorrectable ECC error" in text and "amdgpu" in text
    assert "CUDA error" not in text and "NVRM" not in text and any("HIP_DSA" in line for _, _, line in truth.witnesses)


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("known", "target_crashes segmentation_fault primary_proxy_killed target_crashes unused_parameters"),
        ("second", "retry_storm_recovers preempted crash_loop validation_on_one_rank target_out_of_memory"),
        ("third", "cancelled killed_plain_get decoder_crashes designated_hung backend_refuses"),
        ("fourth", "port_taken mismatch_detected nobody_finishes graph_recompiles rate_limited"),
        ("fifth", "driver_mismatch rebalance_at_noon healthy_run too_many_files healthy_run"),
        ("sixth", "nan_on_one_rank duplicate_member mountpath_faulted quota_exceeded public_port_closed"),
    ],
)
def test_parts_that_were_looked_at_stay(part: str, names: str) -> None:
    """A part that was held back once is drawn as it was drawn then."""
    assert [draw_plan(1, number, part).kind.name for number in range(5)] == names.split()


def run_of(style: str, torch: str = "2.4-ngc") -> JobRun:
    """A job of eight ranks in the words of a framework."""
    params = Params(style=style, torch=torch)
    return JobRun(params, Draw(1, "style"), utc(params.start), ("http://10.0.0.1:51080",), "b")


@pytest.mark.parametrize(
    ("style", "head"),
    [
        ("icefall", r"2026-09-14 10:20:00,000 WARNING \[loop\.py:7\] \(3/8\) late"),
        ("composer", r"2026-09-14 10:20:00,000: rank3\[\d+\]\[MainThread\]: WARNING: loop: late"),
        ("fairseq", r"2026-09-14 10:20:00 \| WARNING \| loop \| late"),
        ("olmo", r"2026-09-14 10:20:00\.000\t\S+:3\tloop:7\tWARNING\tlate"),
        ("returnn", r"WARNING: late"),
        ("timm", r"WARNING: late"),
        ("wenet", r"2026-09-14 10:20:00,000 WARNING late"),
        ("speechbrain", r"loop - late"),
        ("espnet", r"\[[^ :]+:3/8\] 2026-09-14 10:20:00,000 \(loop:7\) WARNING: late"),
        ("open_clip", r"2026-09-14,10:20:00 \| WARNING \| late"),
        ("llamafactory", r"\[WARNING\|2026-09-14 10:20:00\] loop:7 >> late"),
        ("torchtune", r"WARNING:loop:late"),
        ("mmengine", r"2026/09/14 10:20:00 - mmengine - WARNING - late"),
        ("dinov2", r"W20260914 10:20:00 \d+ loop loop\.py:7\] late"),
        ("detectron2", r"\[09/14 10:20:00\] loop WARNING: late"),
        ("lingua", r"3: WARNING 26-09-14 10:20:00\.000000 - 0:00:07 - late"),
        ("litgpt", "late"),
        ("flashy", r"\[\x1b\[36m09-14 10:20:00\x1b\[0m\]\[\S+loop\S+\]\[\x1b\[33mWARNING\x1b\[0m\] - late\x1b\[0m"),
        ("coqui", r" \[!\] late"),
        ("swift", r"\[WARNING:swift\] late"),
        ("fairseq2", r"\[2026-09-14 10:20:00,000\] \[Rank 3\] WARNING loop - late"),
        ("ignite", r"2026-09-14 10:20:00,000 loop WARNING: late"),
        ("opennmt", r"\[2026-09-14 10:20:00,000 WARNING\] late"),
        ("neox", r"\[2026-09-14 10:20:00,000\] \[WARNING\] \[loop\.py:7:main\] late"),
        ("verl", r"\[2026-09-14 10:20:00,000\]\[/workspace/asr/loop\.py\]\[WARNING\] - late"),
        ("areal", r"\[AReaL\] 20260914-10:20:00\.000 \[FSDPEngine Rank 3\] WARNING: late"),
        ("lavis", r"2026-09-14 10:20:00,000 \[WARNING\] late"),
        ("lerobot", r"WARNING 2026-09-14 10:20:00       loop\.py:7 late"),
        ("xtuner", r"\[XTuner\]\[RANK 3\]\[2026-09-14 10:20:00\]\[WARNING\] late"),
        ("primus", r"\[20260914 10:20:00\]\[rank-3/8\]\[WARNING\]  \[-{29}loop\.py:7\] : late"),
        ("dit", r"\[\x1b\[34m2026-09-14 10:20:00\x1b\[0m\] late"),
        ("monai", r"2026-09-14 10:20:00,000 - loop - WARNING - late"),
        ("physicsnemo", r"\[10:20:00 - loop - WARNING\] late"),
        ("vissl", r"WARNING 2026-09-14 10:20:00,000 loop\.py:   7: late"),
        ("automodel", r"2026-09-14 10:20:00 \| WARNING \| loop \| late"),
        ("yolox", r"2026-09-14 10:20:00 \| WARNING  \| loop:7 - late"),
        (
            "swin",
            r"\x1b\[32m\[2026-09-14 10:20:00 swin_base_patch4_window7_224\]\x1b\[0m"
            r"\x1b\[33m\(loop\.py 7\)\x1b\[0m: WARNING late",
        ),
        ("internevo", r"2026-09-14 10:20:00,000\tWARNING loop\.py:7 in main -- late"),
        ("nanotron", r"09/14/2026 10:20:00 \[WARNING\|DP=3\|PP=0\|TP=0\|\S+\]: late"),
        ("mmcv", r"2026-09-14 10:20:00,000 - mmdet - WARNING - late"),
        ("slowfast", r"\[09/14 10:20:00\]\[WARNING\] loop\.py:   7: late"),
        ("sockeye", r"\[2026-09-14:10:20:00:WARNING:loop:main\] late"),
        ("basicsr", r"2026-09-14 10:20:00,000 WARNING: late"),
        ("openpcdet", r"2026-09-14 10:20:00,000   WARNING  late"),
        ("nanogpt", "late"),
        ("fairchem", r"2026-09-14 10:20:00 \(WARNING\): late"),
        ("cosmos", r"\[09-14 10:20:00\|WARNING\|loop\.py:7:main\] \[RANK 3\] late"),
        ("fastpitch", "late"),
        ("mae", r"\[10:20:00\] late"),
        ("imagenet", "late"),
        ("ultralytics", "WARNING ⚠️ late"),
        ("guided", "late"),
        ("diffusers", r"09/14/2026 10:20:00 - WARNING - __main__ - late"),
        ("stylegan", "late"),
        ("hifigan", "late"),
        ("nemo_rl", r"\[Rank 3\] WARNING: late"),
        ("dlrm", "late"),
        ("maskrcnn", r"2026-09-14 10:20:00,000 maskrcnn_benchmark\.loop WARNING: late"),
        ("sat", r"\[2026-09-14 10:20:00,000\] \[WARNING\] \[RANK 3\] late"),
        ("wespeaker", r"\[ WARNING : 2026-09-14 10:20:00,000 \] - late"),
        ("fms", "late"),
        ("mlperf", "late"),
        ("vits", r"2026-09-14 10:20:00,000\t[a-z0-9_-]+\tWARNING\tlate"),
        ("picotron", "late"),
        ("colbert", r"\[Sep 14, 10:20:00\] late"),
        ("mace", r"2026-09-14 10:20:00\.000 WARNING: late"),
        ("pwg", r"2026-09-14 10:20:00,000 \(loop:7\) WARNING: late"),
        ("llmc", "late"),
        ("tacotron2", "late"),
        ("mingpt", r"\[RANK3\] late"),
        ("nanochat", r"2026-09-14 10:20:00,000 - nanochat\.loop - \x1b\[33m\x1b\[1mWARNING\x1b\[0m - late"),
        ("parlai", r"rank:  3 \| 10:20:00 \| late"),
        ("txl", "late"),
        ("kohya", r"2026-09-14 10:20:00 WARNING  late  loop\.py:7"),
        ("moshi", r"2026-09-14 10:20:00 \(UTC\) - 0:00:41 - loop - WARNING - late"),
        ("flamingo", "late"),
        ("styletts2", "late"),
        ("sam2", r"WARNING 2026-09-14 10:20:00,000 loop\.py:   7: late"),
        ("pointcept", r"\[2026-09-14 10:20:00,000 WARNING loop\.py line 7 \d+\] late"),
        ("flair", "2026-09-14 10:20:00,000 late"),
        ("dpr", r"\[140\d{12}\] 2026-09-14 10:20:00,000 \[WARNING\] loop: late"),
        ("kair", r"26-09-14 10:20:00\.000 : late"),
        ("prismatic", r"09/14 \[10:20:00\] WARNING  \| >> \[\*\] late +loop\.py:7"),
        ("mmf", r"\x1b\[33m2026-09-14T10:20:00 \| loop: \x1b\[0mlate"),
        ("allennlp", r"3 \| 2026-09-14 10:20:00,000 - WARNING - loop - late"),
        ("ostrack", "late"),
        ("hrnet", "2026-09-14 10:20:00,000 late"),
        ("clip4clip", "2026-09-14 10:20:00,000:WARNING: late"),
        ("kdiff", "late"),
        ("opensora", r"\[2026-09-14 10:20:00\] late"),
        ("deit", "late"),
        ("valle", r"2026-09-14 10:20:00,000 WARNING \[loop.py:7\] \(3/\d+\) late"),
        ("cosyvoice", "2026-09-14 10:20:00,000 WARNING late"),
        ("nnunet", r"2026-09-14 10:20:00\.000000: late"),
        ("pixart", "2026-09-14 10:20:00,000 - PixArt - WARNING - late"),
        ("dalle", "late"),
        ("gluefactory", r"\[09/14/2026 10:20:00 gluefactory WARNING\] late"),
        ("rosettafold", "late"),
        ("fastai", "late"),
        ("s3prl", r"\[Loop\] - late"),
        ("matcha", r"\[2026-09-14 10:20:00,000\]\[matcha.loop\]\[WARNING\] - \[rank: 3\] late"),
        ("axolotl", r"\[2026-09-14 10:20:00,000\] \[WARNING\] \[loop:7\] \[PID:\d+\] \[RANK:3\] late"),
    ],
)
def test_a_framework_prints_its_own_head(style: str, head: str) -> None:
    """A message has the head of its framework: with its rank, its host, or neither."""
    job = run_of(style)
    job.note(job.begin, 3, "late", "W", 7, "loop")
    job.start()
    assert re.fullmatch(head, job.lines[0].text)
    greetings = [line for line in job.lines if re.search(GREETING, line.text)]
    assert sorted(line.rank or 0 for line in greetings) == list(range(8))
    assert not any("Initializing distributed" in line.text for line in job.lines)


def test_a_rank_is_named_by_its_place() -> None:
    """nanotron names a rank by its place in the grid: tensors within a host, then data, then stages."""
    job = run_of("nanotron")
    job.job = replace(job.job, grid=(2, 2))
    for rank in (1, 2, 7):
        job.note(job.begin, rank, "late", "W", 7, "loop")
    places = [re.findall(r"DP=(\d)\|PP=(\d)\|TP=(\d)", line.text) for line in job.lines]
    assert places == [[("0", "0", "1")], [("1", "0", "0")], [("1", "1", "1")]]


def test_a_bar_has_no_end_of_line() -> None:
    """The bar of SpeechBrain is drawn again in its place, and the next message is glued to it."""
    job = run_of("speechbrain")
    job.train(0, 40)
    job.note(job.step_at(60), 0, "late", "W", 7, "loop")
    (file,) = [one for one in job.files("workers") if one.path.endswith("-0.out")]
    (line,) = file.data.decode().rstrip("\n").split("\n")
    assert line.count("\r") == 4 and line.endswith("]loop - late")


def test_the_older_back_end_still_counts() -> None:
    """PyTorch 2.15 with its older back-end prints counters and groups, 2.15 as it comes does not."""
    assert TORCH["2.15"].is_nccl2 and not TORCH["2.15-nccl"].is_nccl2
    job = run_of("icefall", "2.15-nccl")
    end = job.hang(job.begin, {rank: job.work(3) for rank in range(8) if rank != 5}, (5,), {5: 12})
    said = "\n".join(line.text for line in job.lines)
    assert end > job.begin and "[PG GUID 0(default_pg) Rank 3] Watchdog caught collective operation timeout" in said
    assert "last enqueued work: 15, last completed work: 12" in said
