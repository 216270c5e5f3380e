"""Rollouts of StatefulSets that are carried out step by step, in a random order, while pods fail,
nodes are drained, roles are scaled and templates change.

The controller of a StatefulSet is played as the real one behaves: it makes missing pods by its
partition, and deletes outdated pods from the partition on by itself, which must never happen.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from intact.model.pod import RolePod
from intact.model.pod_state import is_terminating
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import HELD
from intact.rollout.orders import WorkloadOrder
from intact.rollout.plan import State
from intact.rollout.revisions import hash_of, template_of
from intact.rollout.statefulset import is_held
from tests.unit.rollout.scene import Scene, pod


@dataclass
class StatefulSet:
    role: str
    replicas: int
    template: str
    partition: int = 0
    current: str = ""
    """The revision of pods below the partition."""
    pods: dict[int, RolePod] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.current = self.template
        for ordinal in range(self.replicas):
            self.pods[ordinal] = pod(self.role, ordinal, self.template)

    def facts(self, scene: Scene, desired: int, revision: str) -> RoleFacts:
        live = WorkloadFacts(
            f"llm-{self.role}",
            f"{self.role}-uid",
            self.replicas,
            self.template,
            self.partition,
            settled=self.current == self.template,
        )
        return RoleFacts(scene.role(self.role), desired, revision, list(self.pods.values()), [live])

    def apply(self, order: WorkloadOrder) -> None:
        assert order.partition is not None
        self.replicas, self.template, self.partition = (
            order.replicas,
            order.revision,
            order.partition,
        )

    def work(self) -> None:
        """One pass of its controller."""
        for ordinal in [at for at in self.pods if at >= self.replicas]:
            del self.pods[ordinal]
        for ordinal in range(self.replicas):
            if ordinal not in self.pods:
                revision = self.template if ordinal >= self.partition else self.current
                self.pods[ordinal] = pod(self.role, ordinal, revision, ready=False)
        for ordinal, one in sorted(self.pods.items(), reverse=True):
            outdated = self.revision(one) != self.template and not is_terminating(one)
            assert not (outdated and ordinal >= self.partition), "it deletes a pod by itself"
        if all(self.revision(one) == self.template for one in self.pods.values()) and all(
            self.is_ready(one) for one in self.pods.values()
        ):
            self.current = self.template

    def revision(self, one: RolePod) -> str:
        [found] = [
            value for key, value in one.metadata.labels.items() if "role-revision-hash" in key
        ]
        return found

    @staticmethod
    def is_ready(one: RolePod) -> bool:
        return one.status.conditions[0].status == "True" and not is_terminating(one)

    def evict(self, ordinal: int, *, held: bool) -> None:
        one = self.pods[ordinal]
        if held or is_held(one):
            self.pods[ordinal] = _changed(one, going=True, held=True)
        else:
            del self.pods[ordinal]

    def let_go(self, ordinal: int) -> None:
        if is_terminating(self.pods[ordinal]):
            del self.pods[ordinal]
        else:
            self.pods[ordinal] = _changed(self.pods[ordinal], going=False, held=False)

    def become(self, ordinal: int, *, ready: bool) -> None:
        one = self.pods[ordinal]
        self.pods[ordinal] = pod(
            self.role,
            ordinal,
            self.revision(one),
            ready=ready,
            going=is_terminating(one),
            held=is_held(one),
        )


def _changed(one: RolePod, *, going: bool, held: bool) -> RolePod:
    meta = msgspec.structs.replace(
        one.metadata,
        deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
        finalizers=[HELD] if held else [],
    )
    changed: RolePod = msgspec.structs.replace(one, metadata=meta)
    return changed


class World:
    def __init__(self, sizes: dict[str, int]) -> None:
        self.scene = Scene(strategy={"maxSkew": "20%", "maxUnavailableRatio": "25%"})
        self.desired = sizes
        self.image = "engine:1"
        self.sets = {
            name: StatefulSet(name, size, self.target(name)) for name, size in sizes.items()
        }

    def target(self, name: str) -> str:
        return hash_of(template_of(self.scene.role(name, self.image)))

    def step(self, evictions: int) -> bool:
        """One reconcile; budgets let only so many evictions through. Whether all is completed."""
        scene = self.scene
        scene.facts = {
            name: one.facts(scene, self.desired[name], self.target(name))
            for name, one in self.sets.items()
        }
        before = {name: self.started(name) for name in self.sets}
        step = scene.step()
        for name, [order] in step.orders.items():
            self.sets[name].apply(order)
        evicted = {one.pod.metadata.uid for one in step.evict}
        for one in self.sets.values():
            for ordinal in [
                at
                for at, held in one.pods.items()
                if is_held(held) and held.metadata.uid not in evicted
            ]:
                one.let_go(ordinal)
        for eviction in step.evict[:evictions]:
            ordinal = int(eviction.pod.metadata.name.rpartition("-")[2])
            self.sets[eviction.role].evict(ordinal, held=True)
        self.check(before)
        for one in self.sets.values():
            one.work()
        return all(role.state == State.COMPLETED for role in step.progress.values())

    def started(self, name: str) -> int:
        facts = self.scene.facts.get(name)
        if facts is None:
            return 0
        one = self.sets[name]
        return sum(
            facts.is_updated(each) or is_held(each)
            for at, each in one.pods.items()
            if at < self.desired[name]
        )

    def check(self, before: dict[str, int]) -> None:
        """No role that has started more is further ahead than it may."""
        sizes = {name: number for name, number in self.desired.items() if number}
        ready = {}
        for name, number in sizes.items():
            facts, one = self.scene.facts[name], self.sets[name]
            ready[name] = Fraction(
                sum(
                    facts.is_updated(each) and one.is_ready(each)
                    for at, each in one.pods.items()
                    if at < number
                ),
                number,
            )
        bound = max([Fraction(1, 5), *(Fraction(1, number) for number in sizes.values())])
        for name, number in sizes.items():
            if self.started(name) > before[name]:
                assert Fraction(self.started(name), number) - min(ready.values()) <= bound


@given(st.data())
@settings(deadline=None)
def test_whatever_happens_it_ends_with_everything_new(data: st.DataObject) -> None:
    sizes = {name: data.draw(st.integers(4, 12), label=name) for name in ("prefill", "decode")}
    world = World(sizes)
    world.image = "engine:2"
    for _ in range(data.draw(st.integers(0, 25), label="steps")):
        world.step(data.draw(st.integers(0, 4), label="evictions"))
        happening = data.draw(
            st.sampled_from(["ready", "ready", "ready", "drain", "fail", "scale", "template"])
        )
        one = world.sets[data.draw(st.sampled_from(sorted(world.sets)))]
        if happening == "template":
            world.image = data.draw(st.sampled_from(["engine:1", "engine:2", "engine:3"]))
        elif happening == "scale":
            world.desired[one.role] = data.draw(st.integers(0, 14))
        elif one.pods:
            ordinal = data.draw(st.sampled_from(sorted(one.pods)))
            if happening == "drain":
                if not is_terminating(one.pods[ordinal]):
                    one.evict(ordinal, held=False)
            else:
                one.become(ordinal, ready=happening == "ready")
    for _ in range(200):
        for one in world.sets.values():
            for ordinal in one.pods:
                if not is_terminating(one.pods[ordinal]):
                    one.become(ordinal, ready=True)
        if world.step(evictions=100) and _done(world):
            return
    raise AssertionError("it does not end")


def _done(world: World) -> bool:
    return all(
        len(one.pods) == world.desired[name]
        and all(one.revision(each) == world.target(name) for each in one.pods.values())
        and not any(is_held(each) for each in one.pods.values())
        for name, one in world.sets.items()
    )
