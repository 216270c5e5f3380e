"""Events of the disruption controller: recorded when they begin, and not again while they last."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from intact.kube.client import Client
from intact.kube.events import EventRecorder
from intact.model.meta import LabelSelector, LabelSelectorRequirement
from intact.model.pdb import PdbMeta, PdbSpec, PodDisruptionBudget
from intact.model.pod import Pod, PodMeta
from intact.operator.pdb.events import DisruptionEvents
from tests.support.objects import NAMESPACES
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pdb.scene import PdbScene
from tests.unit.operator.pub.scene import NS

META = PdbMeta(name="b", namespace=NS, uid="b", resource_version="7")
BUDGET = PodDisruptionBudget(
    metadata=META, spec=PdbSpec(selector=LabelSelector(match_labels={"app": "a"}))
)
POD = Pod(metadata=PodMeta(name="p", namespace=NS, uid="p"))


class Recording:
    def __init__(self, scene: PdbScene, recorder: EventRecorder) -> None:
        self.events = DisruptionEvents(recorder)
        self._scene = scene
        self._recorder = recorder

    async def written(self, reason: str) -> list[tuple[str, int, str]]:
        """Type, count and message of each."""
        await self._recorder.flush()
        found = await self._scene.events(reason)
        return [(one["type"], one["count"], one["message"]) for one in found]


@asynccontextmanager
async def recording() -> AsyncGenerator[Recording]:
    scene = PdbScene()
    await scene.client.create(NAMESPACES, {"metadata": {"name": NS}})
    client = Client(scene.api, rng=random.Random(1))
    recorder = EventRecorder(client, "intact", "intact-0", now=scene.clock)
    task = asyncio.create_task(recorder.run())
    try:
        yield Recording(scene, recorder)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@simulated
async def test_an_event_is_recorded_again_only_after_it_has_ended() -> None:
    async with recording() as record:
        for pods in (0, 0, 1, 1, 0):
            record.events.counted(BUDGET, pods=pods, unmanaged=0)
        assert await record.written("NoPods") == [("Normal", 2, "No matching pods found")]


@simulated
async def test_an_event_with_another_text_is_another() -> None:
    async with recording() as record:
        for problem in ("one", "one", "two"):
            record.events.not_counted(BUDGET, problem)
        text = "Failed to calculate the number of expected pods: "
        assert await record.written("CalculateExpectedPodCountFailed") == [
            ("Warning", 1, f"{text}one"),
            ("Warning", 1, f"{text}two"),
        ]
        record.events.counted(BUDGET, pods=1, unmanaged=0)
        record.events.not_counted(BUDGET, "two")
        assert (await record.written("CalculateExpectedPodCountFailed"))[1][1] == 2


@simulated
async def test_a_deleted_budget_is_forgotten() -> None:
    async with recording() as record:
        record.events.other_writer(BUDGET, "kcm")
        record.events.forget((NS, "b"))
        record.events.other_writer(BUDGET, "kcm")
        [(kind, number, text)] = await record.written("OtherStatusWriter")
        assert (kind, number) == ("Warning", 2)
        assert text.startswith("kcm writes the status of this PodDisruptionBudget as well.")


@simulated
async def test_events_about_pods_name_the_budgets() -> None:
    async with recording() as record:
        record.events.not_deleted(BUDGET, POD)
        record.events.several_budgets(POD, ["b", "c"])
        [(_, _, late)] = await record.written("NotDeleted")
        assert late == "Pod was expected by PDB ns/b to be deleted but it wasn't"
        [(_, _, several)] = await record.written("MultiplePodDisruptionBudgets")
        assert several.startswith('Pod "ns"/"p" matches multiple PodDisruptionBudgets: b, c.')


NOT_A = LabelSelectorRequirement(key="app", operator="NotIn", values=["a", "b"])
EXISTS = LabelSelectorRequirement(key="tier", operator="Exists")


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "<none>"),
        (LabelSelector(), "<all>"),
        (LabelSelector(match_labels={"app": "a", "tier": "x"}), "app=a,tier=x"),
        (LabelSelector(match_expressions=[NOT_A, EXISTS]), "app NotIn (a,b),tier Exists"),
    ],
)
def test_unmanaged_pods_show_the_selector(selector: LabelSelector | None, text: str) -> None:
    @simulated
    async def run() -> None:
        async with recording() as record:
            budget = PodDisruptionBudget(metadata=META, spec=PdbSpec(selector=selector))
            record.events.counted(budget, pods=1, unmanaged=1)
            [(_, _, message)] = await record.written("UnmanagedPods")
            assert f"(selector: {text}) were found to be unmanaged" in message

    run()
