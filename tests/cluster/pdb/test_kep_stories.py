"""KEP-5682's stories on a stock server with Intact: the budgets as `intact translate` makes them,
and the same decisions as on the server of the KEP (tests/simulation/test_kep_stories.py).

Workloads and pods are in the shape of Kubernetes 1.36: it never served the KEP's `replicas` and
`spec.workload`. There each group is a PodGroup, which pods name in `spec.schedulingGroup`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from intact.cli.main import main
from intact.kube.resources import PDBS as TYPED
from intact.kube.resources import untyped
from intact.model.pdb import PodDisruptionBudget
from intact.operator.pdb.kep_fields import KepFields
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.kep_stories import (
    LABELS,
    NAME,
    POD_GROUP,
    STORIES,
    STORY_1,
    WORKLOAD,
    Counts,
    Pods,
    Says,
    Story,
    group_of,
    play,
)
from tests.support.namespace_under_test import UNREADY, Drain, NamespaceUnderTest, eventually
from tests.support.objects import PDBS, PODS, Json, pod
from tests.support.pdb_groups import (
    NEEDS_POD_GROUPS,
    POD_GROUPS,
    WORKLOADS,
    condition,
    replicas,
)

pytestmark = NEEDS_POD_GROUPS

REPLICA_SETS = untyped("apps", "v1", "replicasets", "ReplicaSet")


@pytest.fixture(scope="module")
def intact_cluster(cluster_with_pod_groups: ClusterWithIntact) -> ClusterWithIntact:
    return cluster_with_pod_groups


def translated(manifest: str) -> Json:
    result = CliRunner().invoke(main, ["translate", "-f", "-"], input=manifest)
    assert result.exit_code == 0, result.output
    found: Json = yaml.safe_load(result.stdout)
    return found


class StockServer:
    def __init__(self, ns: NamespaceUnderTest) -> None:
        self._ns = ns
        self._labels = LABELS | {"test": ns.name}
        self._stack = AsyncExitStack()
        self._drain: Drain | None = None
        self._story: Story | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["StockServer", None]:
        async with self._stack:
            yield self

    async def set_up(self, story: Story) -> None:
        self._story = story
        gang = {"gang": {"minCount": story.need}}
        template = {"name": POD_GROUP, "schedulingPolicy": gang}
        body: Json = {"metadata": {"name": WORKLOAD}, "spec": {"podGroupTemplates": [template]}}
        await self._ns.create(WORKLOADS, body)
        reference = {"workloadName": WORKLOAD, "podGroupTemplateName": POD_GROUP}
        for name in story.groups:
            spec = {"schedulingPolicy": gang, "podGroupTemplateRef": {"workload": reference}}
            await self._ns.create(POD_GROUPS, {"metadata": {"name": name}, "spec": spec})
        for name, node in story.names().items():
            await self._pod(name, node)
        await self._ns.ready(*story.names())
        if story.owned:
            await self._own(len(story.names()))
        await self._ns.create(PDBS, translated(story.budget))

    async def _pod(self, name: str, node: str) -> None:
        body = pod(name, node=node, labels=self._labels)
        if group_of(name) != "lost":
            body["spec"]["schedulingGroup"] = {"podGroupName": group_of(name)}
        await self._ns.create(PODS, body)

    async def _own(self, count: int) -> None:
        """A ReplicaSet that adopts the pods. Those that it puts in their place are never ready."""
        template = pod("", labels=self._labels, annotations={UNREADY: "true"})
        template["metadata"].pop("name")
        spec = {"replicas": count, "selector": {"matchLabels": self._labels}, "template": template}
        await self._ns.create(REPLICA_SETS, {"metadata": {"name": "owner"}, "spec": spec})

    async def evict(self, pod: str) -> bool:
        answer = await self._ns.evict(pod)
        if answer.code == 201:
            return True
        assert (answer.code, answer.causes) == (429, ("DisruptionBudget",))
        return False

    async def _until(self, matches: Callable[[PodDisruptionBudget], bool], what: object) -> None:
        async def look() -> PodDisruptionBudget:
            return await self._ns.client.get(TYPED, NAME, self._ns.name)

        def is_so(found: PodDisruptionBudget) -> bool:
            counted = found.status.observed_generation == found.metadata.generation
            return counted and matches(found)

        await eventually(look, is_so, str(what))

    async def until_counts(self, counts: Counts) -> None:
        await self._until(
            lambda found: Counts(*replicas(found).values()) == counts if replicas(found) else False,
            counts,
        )

    async def until_says(self, said: Says) -> None:
        def is_said(found: PodDisruptionBudget) -> bool:
            kinds = [each.type for each in found.status.conditions]
            if said.type not in kinds:
                return False
            status, reason, message = condition(found, said.type)
            return (status, reason) == (said.status, said.reason) and said.message in message

        await self._until(is_said, said)

    async def until_pods(self, pods: Pods) -> None:
        number = pods.number if pods.stock is None else pods.stock
        await self._until(lambda found: getattr(found.status, pods.field) == number, pods)

    async def recover(self) -> None:
        assert self._story is not None
        names = {each["metadata"]["name"] for each in await self._pods()}
        missing = [name for name in self._story.names() if name not in names]
        for name in missing:
            await self._pod(name, "node-2")
        await self._ns.ready(*missing)

    async def _pods(self) -> list[Json]:
        return list((await self._ns.client.list(PODS, self._ns.name)).items)

    async def edit(self, spec: Mapping[str, Any]) -> None:
        await self._ns.client.patch(PDBS, {"spec": dict(spec)}, NAME, self._ns.name)

    async def start_drain(self, node: str) -> None:
        self._drain = await self._stack.enter_async_context(self._ns.drain(node))

    async def until_paused(self, node: str, pods: int) -> None:
        assert self._drain is not None
        await eventually(
            lambda: self._ns.on_node(node),
            lambda names: len(names) == pods,
            f"{pods} pods to be left on {node}",
        )
        # All that are left are refused once more.
        said = len(self._drain.said)
        await self._drain.says(rf"(?s)\A.{{{said}}}(.*will retry){{{pods}}}")
        assert len(await self._ns.on_node(node)) == pods

    async def until_drained(self, node: str) -> None:
        assert self._drain is not None
        assert await self._drain.ended() == 0, self._drain.said
        assert await self._ns.on_node(node) == []


@pytest.mark.parametrize("story", STORIES)
async def test_a_story_of_the_kep(ns: NamespaceUnderTest, story: str) -> None:
    async with StockServer(ns).open() as server:
        await play(STORIES[story], server)


async def test_a_stock_server_does_not_know_the_fields(ns: NamespaceUnderTest) -> None:
    await ns.create(PDBS, translated(STORY_1))
    fields = KepFields(ns.client, now=lambda: datetime.now(UTC))
    assert not await fields.known((ns.name, NAME))
    # What is not translated is refused by kubectl, and dropped by the server.
    manifest = yaml.safe_load(STORY_1) | {"metadata": {"name": "plain"}}
    code, said = await ns.kubectl("apply", "-f", "-", stdin=manifest)
    assert code != 0
    assert 'unknown field "spec.budgetScope"' in said
