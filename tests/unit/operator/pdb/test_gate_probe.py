"""Whether the API server asks the gate: asked with a dry run, believed for a minute."""

import random
from datetime import datetime, timedelta

import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.client import Client
from intact.operator.pdb.gate_probe import GateProbe
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.group_scene import BY_LABEL, Groups, holding
from tests.unit.operator.pdb.scene import PdbScene, counting
from tests.unit.operator.pub.scene import NS, Wire


@simulated
async def test_groups_are_counted_only_once_the_api_server_asks_the_gate() -> None:
    async with counting(groups=True, disruption=False) as scene:
        labels = {SCOPE_LABEL: "Workload"}
        await scene.pdb(labels=labels, annotations=BY_LABEL, maxUnavailable=1)
        await scene.settle(9)
        assert scene.pdb_stored().metadata.annotations == BY_LABEL
        groups = Groups(scene)
        await groups.group("red")
        await scene.settle()
        assert groups.replicas() == (1, 1, 0, 1)


def test_a_gate_that_is_not_asked_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    @simulated
    async def run() -> None:
        async with counting(groups=True, disruption=False) as scene:
            await scene.pdb(labels={SCOPE_LABEL: "Workload"}, maxUnavailable=1)
            await scene.settle(9)
            assert warnings() == []
            await scene.settle(60)
            assert len(warnings()) == 1
            asked = len(scene.wire.sent)
            await scene.settle(60)
            assert len(scene.wire.sent) - asked < 30

    def warnings() -> list[str]:
        return [text for text in caplog.messages if "does not ask the gate" in text]

    run()


class Probing:
    """A probe on a wire of its own, and a clock that a test sets."""

    def __init__(self, scene: PdbScene) -> None:
        self.wire = Wire(scene.api)
        self.time = scene.clock()
        client = Client(self.wire, rng=random.Random(1))
        self.probe = GateProbe(client, now=self.now)

    def now(self) -> datetime:
        return self.time

    async def is_gated(self, after: float = 0.0) -> bool:
        self.time += timedelta(seconds=after)
        return await self.probe.is_gated((NS, "b"))


@simulated
async def test_a_positive_answer_holds_for_a_minute() -> None:
    async with holding() as (scene, groups):
        await groups.budget(maxUnavailable=1)
        probing = Probing(scene)
        assert await probing.is_gated()
        assert await probing.is_gated(after=59)
        assert len(probing.wire.sent) == 1
        assert await probing.is_gated(after=1)
        assert len(probing.wire.sent) == 2


@simulated
async def test_a_negative_answer_is_checked_soon_and_then_less_often() -> None:
    async with counting(groups=True, disruption=False) as scene:
        await scene.pdb(labels={SCOPE_LABEL: "Workload"}, maxUnavailable=1)
        before = scene.pdb_stored()
        probing = Probing(scene)
        assert not await probing.is_gated()
        assert probing.probe.ask_again_after() == 0.2
        assert not await probing.is_gated(after=10)
        assert probing.probe.ask_again_after() == 5.0
        assert scene.pdb_stored() == before
