"""What the checker of budgets in groups excuses, and what it does not."""

import json

import pytest

from intact.kube.client import Client
from intact.kube.resources import PDBS
from intact.sandbox import MemoryApi, run
from tests.simulation.group_truth import BUDGET, NAMESPACE, GroupTruth, TooManyDown
from tests.support.objects import NAMESPACES, PODS, pod

SIZES = {"a": 3, "b": 2}
NEED = 2


class _Scene:
    """Two groups, of which both are desired and `a` has surplus; the budget is `AlwaysAllow`."""

    def __init__(self) -> None:
        self.api = MemoryApi()
        self.client = Client(self.api.as_user("system"))
        self.truth = GroupTruth(self.api, NEED, SIZES, desired=len(SIZES), always_allow=True)

    async def set_up(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for group, size in SIZES.items():
            for number in range(size):
                body = pod(f"{group}-{number}", node="n", labels={"group": group})
                await self.client.create(PODS, body, NAMESPACE)
                await self.set_ready(f"{group}-{number}", ready=True)
        spec = {"maxUnavailable": 1, "selector": {}}
        await self.client.create(PDBS, {"metadata": {"name": BUDGET}, "spec": spec}, NAMESPACE)
        await self.recount()

    async def set_ready(self, name: str, *, ready: bool) -> None:
        conditions = [{"type": "Ready", "status": str(ready)}]
        status = {"phase": "Running", "conditions": conditions}
        await self.client.patch(PODS, {"status": status}, name, NAMESPACE, subresource="status")
        self.truth.observe()

    async def recount(self) -> None:
        ledger = json.dumps({"seen": str(self.api.revision)})
        annotations = {"intact.dev/ledger": ledger}
        await self.client.patch(PDBS, {"metadata": {"annotations": annotations}}, BUDGET, NAMESPACE)
        self.truth.observe()

    async def take(self, name: str) -> None:
        await self.client.delete(PODS, name, NAMESPACE)
        self.truth.observe()


async def _come_back(scene: _Scene) -> None:
    """One pod fails, as a recount sees, and is ready again."""
    await scene.set_up()
    await scene.set_ready("a-0", ready=False)
    await scene.recount()
    await scene.set_ready("a-0", ready=True)


def test_a_group_is_down_as_far_as_known_while_the_return_of_its_pod_was_not_seen() -> None:
    """In truth it has two pods when the second one is taken, and so it is up until then."""
    scene = _Scene()

    async def main() -> None:
        await _come_back(scene)
        for name in ("a-1", "a-2"):
            await scene.take(name)

    run(main())
    assert scene.truth.taken_while_down == 1


def test_a_group_is_up_once_the_return_of_its_pod_was_seen() -> None:
    async def main() -> None:
        scene = _Scene()
        await _come_back(scene)
        await scene.recount()
        for name in ("a-1", "a-2"):
            await scene.take(name)

    with pytest.raises(TooManyDown, match="a-2 was taken"):
        run(main())
