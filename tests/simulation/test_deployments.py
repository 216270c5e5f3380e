"""Rollouts of a role on Deployments, carried out step by step among ReplicaSets that lag.

Every controller sees the pods and the Deployments as they were at some moment, never earlier than
before: the controller of RoleBasedGroups, and each ReplicaSet, which sees pods and its scale
separately. A ReplicaSet behaves as the real one: it replaces pods that it sees go, deletes surplus
pods, first those that it sees not ready, else any, and does nothing more until it has seen what it
did. In every order of all this, no fewer pods serve than the rules say. Pods do not fail here: a
rollout cannot help against failures.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar, cast

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from intact.kube.client import Client
from intact.kube.errors import Conflict, NotFound, TooManyRequests, Unreachable
from intact.kube.resources import Resource
from intact.model.pod import RolePod
from intact.model.pod_state import is_terminating
from intact.model.status import Status
from intact.operator.rbg.pods.evicted_pods import EvictedPods
from intact.operator.rbg.pods.evictions import RbgEvictions
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import role_revision_label
from intact.rollout.orders import WorkloadOrder
from intact.rollout.plan import State
from intact.rollout.ratios import most_unavailable, parse
from intact.rollout.revisions import hash_of, template_of
from tests.unit.rollout.scene import Scene, pod

T = TypeVar("T")
ROLE = "prefill"
Pods = dict[str, RolePod]
"""By UID."""


class Choices:
    """What happens, one byte for each choice; then nothing does."""

    def __init__(self, course: bytes) -> None:
        self._left = list(reversed(course))

    @property
    def over(self) -> bool:
        return not self._left

    def of(self, options: Sequence[T]) -> T:
        return options[self._left.pop() % len(options) if self._left else 0]


@dataclass(frozen=True)
class Said:
    """What a Deployment says at a moment."""

    replicas: int
    short: int | None = None


@dataclass
class Deployment:
    name: str
    uid: str
    revision: str
    course: list[Said]
    seen: int = 0
    """By the controller of RoleBasedGroups: an index into its course, as are the others."""
    scale_seen: int = 0
    """By its ReplicaSet."""
    pods_seen: int = 0
    did: int = 0
    """The moment of the pods at which its ReplicaSet acted last."""

    @property
    def view(self) -> Said:
        return self.course[self.seen]


def is_ready(one: RolePod) -> bool:
    return one.status.conditions[0].status == "True" and not is_terminating(one)


@dataclass
class World:
    choices: Choices
    desired: int
    ratio: str
    refused: bool = False
    """Pods of the first revision cannot be made any more."""
    moments: list[Pods] = field(default_factory=lambda: [{}])
    seen: int = 0
    """By the controller of RoleBasedGroups: an index into the moments."""
    image: str = "engine:1"
    deployments: dict[str, Deployment] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers = count()
        strategy = {"maxSkew": "100%", "maxUnavailableRatio": self.ratio}
        self.scene = Scene(self.desired, 1, deployment=True, strategy=strategy)
        self.scene.live("decode", settled=True, partition=0)
        self.scene.put("decode", pod("decode", 0, self.scene.new("decode")))
        self.forget()
        self.first = self.revision
        self.apply(WorkloadOrder("llm-prefill", self.role, self.first, self.desired))
        for _ in range(self.desired):
            self.put(pod(ROLE, next(self.numbers), self.first))
        self.catch_up()

    @property
    def role(self) -> Any:
        return self.scene.role(ROLE, self.image)

    @property
    def revision(self) -> str:
        return hash_of(template_of(self.role))

    @property
    def pods(self) -> Pods:
        return self.moments[-1]

    # What is so

    def put(self, one: RolePod) -> None:
        version = str(len(self.moments))
        meta = msgspec.structs.replace(one.metadata, resource_version=version)
        one = msgspec.structs.replace(one, metadata=meta)
        self.moments.append(self.pods | {meta.uid: one})

    def drop(self, uid: str) -> None:
        self.moments.append({key: one for key, one in self.pods.items() if key != uid})

    def become(self, one: RolePod, *, ready: bool, going: bool = False) -> None:
        index = one.metadata.name.rpartition("-")[2]
        self.put(pod(ROLE, index, _revision(one), ready=ready, going=going))

    def check(self) -> None:
        serving = sum(map(is_ready, self.pods.values()))
        least = self.desired - most_unavailable(parse(self.ratio), self.desired)
        assert serving >= least, f"{serving} serve of {self.desired}"

    # What the controllers of Kubernetes do

    def work(self, deployment: Deployment) -> None:
        """One pass of its ReplicaSet, by what it has seen."""
        if deployment.pods_seen < deployment.did:
            return
        wanted = deployment.course[deployment.scale_seen].replicas
        there = [
            one
            for one in self.moments[deployment.pods_seen].values()
            if _revision(one) == deployment.revision and not is_terminating(one)
        ]
        refused = self.refused and deployment.revision == self.first
        short = len(there) if refused and len(there) < wanted else None
        if short != deployment.course[-1].short:
            deployment.course.append(replace(deployment.course[-1], short=short))
        if short is not None:
            return
        for _ in range(wanted - len(there)):
            self.put(pod(ROLE, next(self.numbers), deployment.revision, ready=False))
        for _ in range(len(there) - wanted):
            worst = min(map(is_ready, there))
            one = self.choices.of([one for one in there if is_ready(one) == worst])
            there.remove(one)
            self.take(one)
        deployment.did = len(self.moments) - 1

    def take(self, one: RolePod) -> None:
        alive = self.pods.get(one.metadata.uid)
        if alive is not None and not is_terminating(alive):
            self.become(alive, ready=is_ready(alive), going=True)
            self.check()

    def happen(self) -> None:
        """Anything, once."""
        if self.choices.over:
            return
        pods = self.pods.values()
        options: list[Callable[[], None]] = [lambda: None]
        options += [
            lambda one=one: self.become(one, ready=True)  # type: ignore[misc]
            for one in pods
            if not is_ready(one) and not is_terminating(one)
        ]
        options += [
            lambda one=one: self.drop(one.metadata.uid)  # type: ignore[misc]
            for one in pods
            if is_terminating(one)
        ]
        if self.seen < len(self.moments) - 1:
            options.append(self.see_pods)
        for each in self.deployments.values():
            options.append(lambda each=each: self.work(each))  # type: ignore[misc]
            if each.scale_seen < len(each.course) - 1:
                options.append(lambda each=each: _see_scale(each))  # type: ignore[misc]
            if each.pods_seen < len(self.moments) - 1:
                options.append(lambda each=each: self.hear_of_pods(each))  # type: ignore[misc]
            if each.seen < len(each.course) - 1:
                options.append(lambda each=each: _see_deployment(each))  # type: ignore[misc]
        self.choices.of(options)()

    def see_pods(self) -> None:
        self.seen += 1 + self.choices.of(range(len(self.moments) - 1 - self.seen))

    def hear_of_pods(self, deployment: Deployment) -> None:
        behind = len(self.moments) - 1 - deployment.pods_seen
        deployment.pods_seen += 1 + self.choices.of(range(behind))

    def catch_up(self) -> None:
        self.seen = len(self.moments) - 1
        for each in self.deployments.values():
            each.seen = each.scale_seen = len(each.course) - 1
            each.pods_seen = self.seen

    # What the controller of RoleBasedGroups does

    def forget(self) -> None:
        self.evicted = EvictedPods()
        self.evictions = RbgEvictions(cast("Client", self), self.evicted)

    def facts(self) -> RoleFacts:
        evicted = self.evicted.by_deployment
        workloads = [
            WorkloadFacts(
                name=one.name,
                uid=one.uid,
                replicas=one.view.replicas,
                revision=one.revision,
                evicted=evicted.get(one.uid, frozenset()),
                short=one.view.short,
            )
            for one in self.deployments.values()
        ]
        pods = list(self.moments[self.seen].values())
        return RoleFacts(self.role, self.desired, self.revision, pods, workloads)

    def reconcile(self) -> bool:
        """Whether all is completed."""
        self.scene.facts[ROLE] = self.facts()
        step = self.scene.step()
        for uid in step.settled:
            self.evicted.forget(uid)
        orders = step.orders[ROLE]
        for order in orders:
            self.meanwhile()
            self.apply(order)
        self.meanwhile()
        try:
            _run(self.evictions.evict(step.evict, {ROLE}))
        except Unreachable:
            return False
        for name in self.deployments.keys() - {order.name for order in orders}:
            gone = self.deployments.pop(name)
            for one in list(self.pods.values()):
                if _revision(one) == gone.revision:
                    self.take(one)
        return all(role.state == State.COMPLETED for role in step.progress.values())

    def meanwhile(self) -> None:
        for _ in range(self.choices.of([0, 1, 3])):
            self.happen()

    def apply(self, order: WorkloadOrder) -> None:
        found = self.deployments.get(order.name)
        if found is None:
            uid = f"{order.name}-{next(self.numbers)}"
            found = Deployment(order.name, uid, order.revision, [Said(order.replicas)])
            found.did = found.pods_seen = len(self.moments) - 1
            self.deployments[order.name] = found
        assert found.revision == order.revision, "it would roll by itself"
        if order.replicas != found.course[-1].replicas:
            found.course.append(replace(found.course[-1], replicas=order.replicas))
            found.seen = len(found.course) - 1  # the answer

    async def evict(
        self,
        _resource: Resource[RolePod],
        _name: str,
        _namespace: str,
        *,
        uid: str,
        resource_version: str,
    ) -> None:
        """As a client does it."""
        self.meanwhile()
        answer = self.choices.of(["", "", "", "refused", "lost", "never sent"])
        if answer == "refused":
            raise TooManyRequests(Status(status="Failure", code=429, message="no"))
        if answer == "never sent":
            raise Unreachable("the server is")
        alive = self.pods.get(uid)
        if alive is None:
            raise NotFound(Status(status="Failure", code=404))
        if resource_version not in ("", alive.metadata.resource_version):
            raise Conflict(Status(status="Failure", code=409))
        self.take(alive)
        if answer == "lost":
            raise Unreachable("the answer is lost")
        self.meanwhile()

    def restart(self) -> None:
        """Another replica leads: it lists everything, and remembers nothing."""
        self.forget()
        self.seen = len(self.moments) - 1
        for each in self.deployments.values():
            each.seen = len(each.course) - 1

    def end(self) -> None:
        """Everybody sees everything and all pods become ready: it has to come to its end."""
        for _ in range(40 + 10 * self.desired):
            self.catch_up()
            done = self.reconcile()
            for each in list(self.deployments.values()):
                self.catch_up()
                self.work(each)
            for one in list(self.pods.values()):
                if is_terminating(one):
                    self.drop(one.metadata.uid)
                elif not is_ready(one):
                    self.become(one, ready=True)
            if done and len(self.deployments) == 1 and len(self.pods) == self.desired:
                assert {_revision(one) for one in self.pods.values()} == {self.revision}
                return
        raise AssertionError("it does not end")


def _revision(one: RolePod) -> str:
    return one.metadata.labels[role_revision_label(ROLE)]


def _see_scale(deployment: Deployment) -> None:
    deployment.scale_seen += 1


def _see_deployment(deployment: Deployment) -> None:
    deployment.seen += 1


def _run(steps: Coroutine[Any, Any, T]) -> T:
    """Of what never waits."""
    try:
        steps.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    raise AssertionError("it waits")


def roll(world: World, happenings: Iterable[Callable[[], object]]) -> None:
    """A rollout among the given happenings, in any order."""
    world.image = "engine:2"
    options = [*[world.happen] * 6, *[world.reconcile] * 2, *happenings]
    while not world.choices.over:
        world.choices.of(options)()
    world.end()


courses = st.binary(min_size=100, max_size=600)
sizes = st.integers(1, 8)
ratios = st.sampled_from(["0%", "20%", "34%", "60%"])


@given(courses, sizes, ratios)
@settings(deadline=None, max_examples=300)
def test_no_more_are_missing_than_may_be(course: bytes, size: int, ratio: str) -> None:
    world = World(Choices(course), size, ratio)

    def undo() -> None:
        world.image = "engine:1" if world.image == "engine:2" else "engine:2"

    def scale_in() -> None:
        world.desired = world.choices.of(range(world.desired, 0, -1))

    roll(world, [undo, scale_in, world.restart])


@given(courses, sizes, ratios)
@settings(deadline=None)
def test_old_pods_that_cannot_be_made_again_do_not_hold_it_up(
    course: bytes, size: int, ratio: str
) -> None:
    roll(World(Choices(course), size, ratio, refused=True), [])
