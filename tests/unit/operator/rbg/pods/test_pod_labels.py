"""The label that tells a pod's revision, after others have overwritten it."""

import random

import msgspec
import pytest

from intact.kube.client import Client
from intact.model.pod import RolePod
from intact.model.rbg import Role
from intact.model.role_workload import ControllerRevision
from intact.operator.rbg.pods.pod_labels import PodLabels
from intact.operator.rbg.resources import ROLE_PODS
from intact.rollout.facts import RoleFacts
from intact.rollout.names import role_revision_label
from intact.sandbox import MemoryApi, wall_clock
from tests.support.objects import CONTROLLER_REVISIONS, NAMESPACES, PODS, REPLICA_SETS, Json
from tests.support.rbg_objects import kind, role, template
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import NS

LABEL = role_revision_label("prefill")
PRESENT = "0123456789"


class Scene:
    """A pod of a role, on a workload of either kind, whose template has the present revision."""

    def __init__(self, owner: str, said: str | None, written: str = PRESENT) -> None:
        self.api = MemoryApi(clock=wall_clock())
        self.client = Client(self.api, rng=random.Random(1))
        self.labels = PodLabels(self.client)
        self._owner = owner
        self._said = said
        self._template = {
            "metadata": {"labels": {"app": "a", LABEL: written}},
            **template(),
        }

    async def put_right(self) -> str | None:
        """The label of the pod afterwards."""
        await self.client.create(NAMESPACES, {"metadata": {"name": NS}})
        owner = await self._make()
        reference = {
            "apiVersion": "apps/v1",
            "kind": self._owner,
            "name": "llm-prefill",
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        said = {} if self._said is None else {LABEL: self._said}
        meta = {
            "name": "a",
            "labels": {"app": "a", "controller-revision-hash": "llm-prefill-1", **said},
            "ownerReferences": [reference],
        }
        pod = await self.client.create(PODS, {"metadata": meta, **template()}, NS)
        found = msgspec.convert(role("prefill", **kind("Deployment")), Role)
        facts = RoleFacts(found, 1, PRESENT, [msgspec.convert(pod, RolePod)])
        assert await self.labels.put_right({"prefill": facts}, []) == []
        label: str | None = (await self.client.get(PODS, "a", NS))["metadata"]["labels"].get(LABEL)
        return label

    async def _make(self) -> Json:
        if self._owner == "StatefulSet":
            body: Json = {
                "metadata": {"name": "llm-prefill-1"},
                "revision": 1,
                "data": {"spec": {"template": self._template}},
            }
            return await self.client.create(CONTROLLER_REVISIONS, body, NS)
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "a"}},
            "template": self._template,
        }
        return await self.client.create(
            REPLICA_SETS, {"metadata": {"name": "llm-prefill"}, "spec": spec}, NS
        )


@pytest.mark.parametrize("owner", ["ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize("said", [None, "x"])
@simulated
async def test_an_overwritten_revision_is_restored_from_the_template(
    owner: str, said: str | None
) -> None:
    scene = Scene(owner, said)
    assert await scene.put_right() == PRESENT
    assert scene.labels.writes == 1


@pytest.mark.parametrize(
    ("owner", "said", "written"),
    [
        pytest.param("ReplicaSet", PRESENT, "x", id="the revision is known"),
        pytest.param("ReplicaSet", "x", "y", id="the template has no known one either"),
        pytest.param("DaemonSet", "x", PRESENT, id="another kind of owner"),
    ],
)
@simulated
async def test_nothing_is_written_where_nothing_is_to_be_restored(
    owner: str, said: str, written: str
) -> None:
    scene = Scene(owner, said, written)
    assert await scene.put_right() == said
    assert scene.labels.writes == 0


@simulated
async def test_a_pod_whose_owner_is_gone_is_left_alone() -> None:
    scene = Scene("StatefulSet", "x")
    scene._owner = "ReplicaSet"
    history: list[ControllerRevision] = []
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "gone",
        "uid": "gone",
        "controller": True,
    }
    meta = {"name": "a", "ownerReferences": [reference]}
    pod = await scene.client.create(ROLE_PODS, {"metadata": meta, **template()}, NS)
    facts = RoleFacts(msgspec.convert(role("prefill"), Role), 1, PRESENT, [pod])
    assert await scene.labels.put_right({"prefill": facts}, history) == []
    assert scene.labels.writes == 0
