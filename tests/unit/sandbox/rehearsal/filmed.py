"""Rehearsals for tests that are recorded."""

from collections.abc import Sequence

from intact.sandbox.rehearsal.drain import Drains
from intact.sandbox.rehearsal.film import Film, Frame, decode, encode
from intact.sandbox.rehearsal.recording import Recording
from intact.sandbox.rehearsal.rehearse import Outcome, rehearse
from intact.sandbox.rehearsal.stage import Options, Stage
from tests.support.small_clusters import SmallCluster


def groups() -> SmallCluster:
    """Three groups of two pods, of which one may be down."""
    made = SmallCluster(nodes=4)
    for number in range(3):
        made.pod_group(f"g{number}", [f"node-{number}", f"node-{number}"])
    made.pdb("llm", {"app": "llm"}, scope="PodGroup", maxUnavailable=1)
    return made


def recorded(made: SmallCluster, *nodes: str) -> Recording:
    """Of a drain of these nodes, all at once."""

    async def work(stage: Stage) -> Outcome:
        drains = Drains(stage)
        done = await drains.run(nodes, parallel=len(nodes))
        return Outcome(done, drains.reports(nodes))

    recording = Recording()
    rehearse(made.snapshot(), "drain", work, Options(), intact=made.intact, recording=recording)
    return recording


def filmed(made: SmallCluster, *nodes: str) -> Film:
    return decode(encode(recorded(made, *nodes).film))


def pods_on(frame: Frame, node: str) -> Sequence[str]:
    return sorted(each.metadata.name for each in frame.objects.pods if each.spec.node_name == node)
