"""Storage faults of the thirtieth part between targets and the store behind: a firewall, properties that were reset."""

from __future__ import annotations

from benchmarks.accuracy.generate.faults.words.gateways import s3_refused
from benchmarks.accuracy.generate.faults.words.guests import leaves
from benchmarks.accuracy.generate.faults.words.natives import one_line
from benchmarks.accuracy.generate.faults.words.servers import cloud_refused
from benchmarks.accuracy.generate.faults.words.stewards import map_refused
from benchmarks.accuracy.generate.faults.words.subscribers import spread
from benchmarks.accuracy.generate.faults.words.tellers import told
from benchmarks.accuracy.generate.faults.words.turns import of_all
from benchmarks.accuracy.generate.kinds import kinds_of
from fixtures.generator import aismishaps, aisstewards
from fixtures.generator.aisbehind import cold_failed
from fixtures.generator.aisstewards import NOT_FROM_HERE
from fixtures.generator.model import Scenario
from fixtures.generator.moment import MS, seconds
from fixtures.generator.stage import Stage, utterance

kind = kinds_of("storage", "thirtieth")
ALSO = ("data_loading_stall", "infrastructure", "network", "data")


@kind(reads=True, hangs=False, lead_s=64.0, without=("tenant_errors",))
def firewall_of_an_account_knows_all_hosts_but_one(stage: Stage) -> Scenario:
    """A host of storage leaves by an address that an account of Azure does not list (azure docs, AuthorizationFailure).

    To convict: what is refused with 403 comes from one target only, each time for what it reads from Azure; all others
    read from there as ever, and that one serves what it has.
    """
    cluster, victim, rank, at = stage.cluster, stage.victim, stage.culprit, stage.at
    draw = stage.draw.child("azure firewall")
    stage.open()
    since = stage.mark(at - draw.span(12_000, 25_000), f"the host of {victim.name} leaves by another address")
    first, peers = stage.job.begin + seconds(2), [one for one in cluster.targets if one is not victim]
    aisstewards.reads_behind(cluster, peers, first, at + seconds(20), "azure", draw.child("well"))
    aisstewards.reads_behind(cluster, [victim], first, since, "azure", draw.child("before"))
    for then, other in spread(stage, since + 400 * MS, at - 60 * MS, (3, 7), draw):
        missed = utterance(draw)
        cloud_refused(cluster, victim, then - 4 * MS, missed, NOT_FROM_HERE, 403)
        why = one_line(stage, then, other, victim, missed, 403, NOT_FROM_HERE)
        told(stage, then, other, "samples", f"{missed} replaced by its neighbour: {why}", "WARNING")
    name = utterance(draw)
    cloud_refused(cluster, victim, at - 5 * MS, name, NOT_FROM_HERE, 403)
    map_refused(stage, at, rank, victim, name, 403, NOT_FROM_HERE)
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "A gateway of the network had been replaced, and its address was one that nobody had asked for.",
        (stage.guilty("storage_io", victim, also=ALSO),),
        until=at + seconds(30),
    )


@kind(reads=True, hangs=False, lead_s=64.0, without=("tenant_errors",))
def properties_of_a_bucket_were_reset_with_its_endpoint(stage: Stage) -> Scenario:
    """`ais bucket props reset` takes the endpoint of a site's own store as well (aistore docs, extra.aws.endpoint).

    To convict: boto3 is denied what nobody has read yet; since the buckets' properties were reset, seconds before, all
    targets are told by AWS that it knows no such key, and before that they read from behind without an error.
    """
    cluster, rank, at = stage.cluster, stage.culprit, stage.at
    draw = stage.draw.child("reset properties")
    stage.open()
    reset = stage.mark(at - draw.span(3_500, 11_000), f"properties of {stage.bucket} are reset")
    aismishaps.change_buckets(cluster, reset, "reset-bprops", draw)
    aisstewards.reads_behind(cluster, cluster.targets, stage.job.begin + seconds(2), reset, "aws", draw.child("before"))
    for then, other in spread(stage, reset + 250 * MS, at - 50 * MS, (3, 7), draw):
        missed, node = utterance(draw), draw.pick(cluster.targets)
        error = aisstewards.key_unknown_to_aws(draw)
        cold_failed(cluster, node, then - 4 * MS, missed, error, 403, by_s3=True)
        why = f"An error occurred (AccessDenied) when calling the GetObject operation: {error}"
        told(stage, then, other, "reader", f"{missed} left out: {why}", "WARNING")
    name, node, error = utterance(draw), draw.pick(cluster.targets), aisstewards.key_unknown_to_aws(draw)
    cold_failed(cluster, node, at - 5 * MS, name, error, 403, by_s3=True)
    s3_refused(stage, at, rank, "AccessDenied", "GetObject", error)
    leaves(stage, at + 8 * MS, rank)
    return stage.close(
        "They wanted to be rid of a setting for checksums, and had not known what else was one.",
        (of_all(stage.guilty("storage_io", stage.victim, also=ALSO)),),
        until=at + seconds(30),
    )
