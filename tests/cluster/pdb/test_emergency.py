"""What the page on operations says to do in an emergency works while Intact is down."""

import re
import shlex

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.examples import ROOT
from tests.support.namespace_under_test import (
    TERMINATION_DELAY,
    NamespaceUnderTest,
    eventually,
)
from tests.support.objects import STATEFUL_SETS, spread_stateful_set
from tests.support.pdb_groups import Groups

PAGE = (ROOT / "docs/operations.md").read_text()
SHARD = "shard"


def command(begin: str) -> list[str]:
    """The arguments of the one command of the page that begins so."""
    [found] = re.findall(rf"(?:^\$ |`)kubectl ({re.escape(begin)}[^`\n]*)", PAGE, re.MULTILINE)
    return shlex.split(found)


async def test_the_commands_of_the_page_release_pods_while_intact_is_down(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, groups: Groups
) -> None:
    for shard in "abc":
        body = spread_stateful_set(shard, 4, SHARD, groups.labels)
        # What is evicted stays terminating, and is not replaced.
        body["spec"]["template"]["metadata"]["annotations"] = {TERMINATION_DELAY: "10m"}
        await ns.create(STATEFUL_SETS, body)
    names = await ns.running(12)
    settings = {"intact.dev/group-label-key": SHARD, "intact.dev/min-ready-replicas": "4"}
    await groups.budget(annotations=settings, minAvailable=2)
    await groups.counted(allowed=1, healthy=3)
    await ns.pods("web", labels={"app": "web", "test": ns.name})
    await ns.budget({"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0})
    intact_cluster.stop()

    # A namespace: its gate, and with it the PodUnavailableBudget.
    assert (await ns.delete("web")).code == 500
    code, said = await ns.kubectl(
        *(ns.name if each == "NAME" else each for each in command("label namespace"))
    )
    assert code == 0, said
    assert (await ns.delete("web")).code == 200

    # A PodDisruptionBudget in groups: with any other change it stays as it is.
    assert (await ns.evict(names[0])).code == 500
    amount = '{"spec":{"minAvailable":null,"maxUnavailable":4}}'
    code, said = await ns.kubectl("patch", "pdb", "llm", "--type=merge", "-p", amount)
    assert code == 1
    assert "failed calling webhook" in said
    code, said = await ns.kubectl(
        *("llm" if each == "NAME" else each for each in command("patch pdb"))
    )
    assert code == 0, said
    await eventually(groups.stored, lambda found: found.status.desired_healthy == 8, "a count")
    assert [(await ns.evict(name)).code for name in names[:4]] == [201] * 4
    assert (await ns.evict(names[4])).code == 429
