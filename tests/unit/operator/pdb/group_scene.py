"""Budgets that count groups on the API in memory: the registered gate, pods in groups."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from intact.budget.pdb.scope import SCOPE_LABEL
from intact.kube.errors import ApiError
from intact.kube.resources import PODS as POD_VIEWS
from intact.operator.webhook.configuration import DOOR_LABEL, IN_GROUPS
from intact.sandbox import Rule
from tests.support.objects import Json
from tests.unit.operator.pdb.scene import PdbScene, counting
from tests.unit.operator.pub.scene import NS

LABELS = {"app": "a"}
BY_LABEL = {"intact.dev/group-label-key": "g", "intact.dev/min-ready-replicas": "2"}


def _counts_groups(request: Json) -> bool:
    """As the CEL condition of the registration."""
    both = (request["object"], request["oldObject"])
    return any(SCOPE_LABEL in each["metadata"].get("labels", {}) for each in both)


class Groups:
    def __init__(self, scene: PdbScene) -> None:
        self.scene = scene
        scene.api.admit(
            "status",
            self._review,
            [Rule(("poddisruptionbudgets/status",), ("UPDATE",))],
            mutating=True,
            object_selector=IN_GROUPS,
            condition=_counts_groups,
        )
        self.reads_in_admissions = 0
        self.audited: list[dict[str, str]] = []
        """What the gate said for the audit log, by review."""
        self.audited_at_door: list[dict[str, str]] = []

    def open_door(self) -> None:
        async def review(request: Json) -> Json:
            raw = msgspec.Raw(msgspec.json.encode(request))
            found: Json = msgspec.to_builtins(await self.scene.pdb_controller.door.review(raw))
            self.audited_at_door.append(found.get("auditAnnotations", {}))
            return found

        self.scene.api.admit(
            "door",
            review,
            [Rule(("pods/eviction",), ("CREATE",))],
            namespace_selector={"matchLabels": {DOOR_LABEL: "true"}},
            fail_open=True,
        )

    async def _review(self, request: Json) -> Json:
        before = len(self.scene.wire.sent)
        gate = self.scene.pdb_controller.status_gate
        answer = await gate.review(msgspec.Raw(msgspec.json.encode(request)))
        self.reads_in_admissions += sum(
            each.method == "GET" for each in self.scene.wire.sent[before:]
        )
        found: Json = msgspec.to_builtins(answer)
        self.audited.append(found.get("auditAnnotations", {}))
        return found

    async def group(self, name: str, size: int = 2, **more: Any) -> None:
        for number in range(size):
            await self.scene.pod(f"{name}-{number}", labels={**LABELS, "g": name}, **more)

    async def budget(
        self, annotations: dict[str, str] = BY_LABEL, name: str = "b", **spec: Any
    ) -> None:
        labels = {SCOPE_LABEL: "Workload"}
        await self.scene.pdb(name, labels=labels, annotations=annotations, **spec)
        await self.scene.settle()

    def replicas(self) -> tuple[int, int, int, int]:
        """Allowed, current, desired and expected, in groups."""
        text = self.scene.pdb_stored().metadata.annotations.get("intact.dev/replicas", "")
        return tuple(msgspec.json.decode(text).values()) if text else (-1, -1, -1, -1)

    async def denial(self, name: str) -> str:
        with pytest.raises(ApiError) as denied:
            await self.scene.client.evict(POD_VIEWS, name, NS)
        assert denied.value.code == 429
        assert [cause.reason for cause in denied.value.causes] == ["DisruptionBudget"]
        return str(denied.value)


@asynccontextmanager
async def holding(*, door: bool = False) -> AsyncGenerator[tuple[PdbScene, Groups], None]:
    async with counting(groups=True, disruption=False) as scene:
        groups = Groups(scene)
        if door:
            groups.open_door()
        yield scene, groups
