"""A coordinated RoleBasedGroup as its controller sees it, for tests of what a rollout decides."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from intact.model.meta import ObjectMeta, OwnerReference
from intact.model.pod import PodMeta, RolePod, RolePodCondition, RolePodStatus
from intact.model.rbg import CoordinationState, Json, RbgStatus, Role, RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import HELD, role_revision_label
from intact.rollout.orders import RolloutStep
from intact.rollout.revisions import hash_of, template_of
from intact.rollout.rolling_update import next_step
from tests.support.rbg_objects import group, kind, role, rolling

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(
    role_name: str,
    index: int | str,
    revision: str,
    *,
    ready: bool = True,
    going: bool = False,
    held: bool = False,
    labels: dict[str, str] | None = None,
) -> RolePod:
    name = f"llm-{role_name}-{index}"
    reference = OwnerReference(
        api_version="apps/v1", kind="StatefulSet", name="x", uid=f"{role_name}-uid", controller=True
    )
    return RolePod(
        metadata=PodMeta(
            name=name,
            namespace="default",
            uid=f"{name}-{revision}",
            labels={role_revision_label(role_name): revision, **(labels or {})},
            deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
            finalizers=[HELD] if held else [],
            owner_references=[reference],
        ),
        status=RolePodStatus(
            phase="Running",
            conditions=[RolePodCondition(type="Ready", status="True" if ready else "False")],
        ),
    )


class Scene:
    """Two roles whose image goes from engine:1 to engine:2."""

    def __init__(
        self, prefill: int = 10, decode: int = 5, *, deployment: bool = False, **spec: Any
    ) -> None:
        rules = spec.pop("strategy", {"maxSkew": "20%", "maxUnavailableRatio": "20%"})
        prefill_kind = kind("Deployment") if deployment else {}
        roles = [
            role("prefill", prefill, image="engine:2", **prefill_kind),
            role("decode", decode, image="engine:2"),
        ]
        body = group("llm", *roles, coordination=[rolling("prefill", "decode", **rules)], **spec)
        self.group = msgspec.convert(body, RoleBasedGroup)
        self.now = NOW
        self.images: tuple[str, ...] = ("engine:1", "engine:2")
        """Oldest first."""
        self.unchanged: tuple[str, ...] = ()
        """Roles that have always had the newest image."""
        self.sizes = {"prefill": prefill, "decode": decode}
        self.facts: dict[str, RoleFacts] = {}
        for each in self.group.spec.roles:
            number = self.sizes[each.name]
            pods = [pod(each.name, at, self.old(each.name)) for at in range(number)]
            live = WorkloadFacts(
                f"llm-{each.name}", f"{each.name}-uid", number, self.new(each.name)
            )
            live = replace(live, partition=number)
            self.facts[each.name] = RoleFacts(each, number, self.new(each.name), pods, [live])

    def role(self, name: str, image: str = "engine:2") -> Role:
        found = self.group.spec.role(name)
        assert found is not None
        template = {"spec": {"containers": [{"name": "engine", "image": image}]}}
        return msgspec.structs.replace(found, template=template)

    def old(self, name: str) -> str:
        return hash_of(template_of(self.role(name, "engine:1")))

    def new(self, name: str) -> str:
        return hash_of(template_of(self.role(name)))

    def history(self) -> list[ControllerRevision]:
        return [
            ControllerRevision(
                metadata=ObjectMeta(
                    name=f"llm-{number}", creation_timestamp=f"2026-01-01T00:00:0{number}Z"
                ),
                revision=number,
                data={"roles": {one: self._had(one, image) for one in self.sizes}},
            )
            for number, image in enumerate(self.images, 1)
        ]

    def _had(self, name: str, image: str) -> Json:
        return template_of(self.role(name, self.images[-1] if name in self.unchanged else image))

    def put(self, name: str, *pods: RolePod) -> None:
        """In place of those of the same name."""
        names = {one.metadata.name for one in pods}
        others = [one for one in self.facts[name].pods if one.metadata.name not in names]
        self.facts[name] = replace(self.facts[name], pods=[*others, *pods])

    def take(self, name: str, *indexes: int) -> None:
        names = {f"llm-{name}-{index}" for index in indexes}
        left = [one for one in self.facts[name].pods if one.metadata.name not in names]
        self.facts[name] = replace(self.facts[name], pods=left)

    def live(self, name: str, **changes: Any) -> None:
        [found] = self.facts[name].workloads
        self.facts[name] = replace(self.facts[name], workloads=[replace(found, **changes)])

    def step(self) -> RolloutStep:
        """The next one; its progress is stored in the status."""
        [coordination] = self.group.spec.coordination
        step = next_step(self.group, coordination, self.facts, self.history(), self.now)
        state = CoordinationState(name=coordination.name, progress=step.progress)
        status: RbgStatus = msgspec.structs.replace(self.group.status, coordination_state=[state])
        self.group = msgspec.structs.replace(self.group, status=status)
        return step

    def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
