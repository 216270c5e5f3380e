"""A role that gets a workload of another kind: never more replicas down than its rules allow, and
in the end nothing but the new kind."""

import itertools
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction

import msgspec
import pytest

from intact.model.meta import OwnerReference
from intact.model.pod import PodAnnotations, PodMeta, RolePod, RolePodCondition, RolePodStatus
from intact.model.pod_state import is_ready
from intact.model.rbg import Json, Role, WorkloadKind
from intact.rollout.change_of_kind import change, order
from intact.rollout.deployment import Orders
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import role_revision_label
from intact.rollout.plan import Rules, plan
from intact.rollout.ratios import most_unavailable
from intact.rollout.replicas import GROUP_INDEX
from intact.rollout.revisions import hash_of, template_of

KINDS = ("StatefulSet", "Deployment", "LeaderWorkerSet")
PAIRS = list(itertools.permutations(KINDS, 2))
SIZE = 4


def role(kind: str) -> Role:
    version = "leaderworkerset.x-k8s.io/v1" if kind == "LeaderWorkerSet" else "apps/v1"
    return Role(
        name="web", template={"of": kind}, workload=WorkloadKind(api_version=version, kind=kind)
    )


REVISION = {kind: hash_of(template_of(role(kind))) for kind in KINDS}
TEMPLATES: dict[str, Json] = {REVISION[kind]: template_of(role(kind)) for kind in KINDS}


@dataclass
class World:
    """The controllers of workloads, and kubelets, in the simplest form."""

    kind: str
    """That the role should have."""
    rules: Rules = field(default_factory=Rules)
    live: dict[str, WorkloadFacts] = field(default_factory=dict)
    """By kind."""
    pods: dict[str, RolePod] = field(default_factory=dict)
    made: int = 0
    stuck: frozenset[int] = frozenset()
    """Ordinals that never become ready."""

    def facts(self) -> RoleFacts:
        found = [
            replace(one, made=None if one.kind == "Deployment" else len(self.of(one.kind)))
            for one in self.live.values()
        ]
        return RoleFacts(
            role=role(self.kind),
            desired=SIZE,
            revision=REVISION[self.kind],
            pods=list(self.pods.values()),
            workloads=[one for one in found if one.kind == self.kind],
            others=[one for one in found if one.kind != self.kind],
        )

    def start(self, kind: str) -> None:
        self.live[kind] = WorkloadFacts("llm-web", kind, SIZE, REVISION[kind], kind=kind)
        self.run()
        self.run()

    def available(self) -> int:
        return sum(
            is_ready(pod) and not pod.metadata.deletion_timestamp for pod in self.pods.values()
        )

    def ordered(self) -> Orders:
        """The next orders, carried out."""
        facts = self.facts()
        view = change(facts, {})
        ratio = self.rules.max_unavailable
        planned = plan([view.role(ratio)], self.rules).roles["web"]
        made = order("llm", view, planned, ratio, TEMPLATES)
        before, self.live = self.live, {}
        for one in made.workloads:
            kind = one.role.workload.kind
            known = before.get(kind) or WorkloadFacts(one.name, kind, 0, one.revision, kind=kind)
            if known.uid in made.settled:
                known = replace(known, evicted=frozenset())
            self.live[kind] = replace(known, replicas=one.replicas, partition=one.partition or 0)
        for gone in before.keys() - self.live.keys():
            assert not any(self.of(gone)), f"the pods of {gone} go with it"
        for name, pod in list(self.pods.items()):
            if pod.metadata.deletion_timestamp:
                del self.pods[name]  # and lets it go, once its workload has the new scale
        for eviction in made.evict:
            self.evict(self.pods[eviction.pod.metadata.name], eviction.deployment)
        return made

    def evict(self, pod: RolePod, deployment: str) -> None:
        if deployment:
            self.pods.pop(pod.metadata.name, None)
            known = self.live["Deployment"]
            evicted = known.evicted | {pod.metadata.uid}
            self.live["Deployment"] = replace(known, evicted=evicted)
        else:
            going = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
            self.pods[pod.metadata.name] = msgspec.structs.replace(pod, metadata=going)

    def of(self, kind: str) -> list[RolePod]:
        owned = [(one, one.metadata.owner_references[0].uid) for one in self.pods.values()]
        return [pod for pod, uid in owned if uid == kind]

    def run(self) -> None:
        """What kubelets and controllers do until the next look."""
        for name, pod in list(self.pods.items()):
            if pod.metadata.deletion_timestamp:
                continue  # Intact holds it
            if pod.metadata.name not in {f"old-{number}" for number in self.stuck}:
                self.pods[name] = msgspec.structs.replace(pod, status=_status(ready=True))
        for kind, live in self.live.items():
            if kind == "Deployment":
                self._replicate(live)
                continue
            numbers = {int(pod.metadata.labels["number"]): pod for pod in self.of(kind)}
            for number, pod in numbers.items():
                if number >= live.replicas:
                    del self.pods[pod.metadata.name]
            for number in range(live.replicas):
                if number not in numbers:
                    self._make(kind, f"{kind}-{number}".lower(), number)

    def _replicate(self, live: WorkloadFacts) -> None:
        pods = sorted(self.of("Deployment"), key=is_ready)
        for pod in pods[: max(0, len(pods) - live.replicas)]:
            del self.pods[pod.metadata.name]
        for _ in range(live.replicas - len(pods)):
            self.made += 1
            self._make("Deployment", f"deployment-x{self.made}x", 0)

    def _make(self, kind: str, name: str, number: int) -> None:
        labels = {role_revision_label("web"): REVISION[kind], "number": str(number)}
        if kind == "LeaderWorkerSet":
            labels[GROUP_INDEX] = str(number)
        owner = OwnerReference(api_version="v1", kind=kind, name="x", uid=kind, controller=True)
        self.made += 1
        meta = PodMeta(
            name=name,
            namespace="default",
            uid=f"{name}-{self.made}",
            labels=labels,
            owner_references=[owner],
            annotations=PodAnnotations(group_size="1"),
        )
        self.pods[name] = RolePod(metadata=meta, status=_status(ready=False))


def _status(*, ready: bool) -> RolePodStatus:
    condition = RolePodCondition(type="Ready", status="True" if ready else "False")
    return RolePodStatus(phase="Running", conditions=[condition])


def move(world: World, rounds: int = 60) -> int:
    """Until only the wanted kind is there. Returns the fewest that were available."""
    fewest = SIZE
    for _ in range(rounds):
        if list(world.live) == [world.kind] and world.available() == SIZE:
            return fewest
        if world.facts().others:
            world.ordered()
            fewest = min(fewest, world.available())
        world.run()
        fewest = min(fewest, world.available())
    raise AssertionError(f"not there after {rounds} rounds: {world.live}")


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("ratio", [Fraction(0), None, Fraction(1, 2), Fraction(1)], ids=str)
def test_one_kind_comes_up_as_the_other_goes_down(
    first: str, second: str, ratio: Fraction | None
) -> None:
    world = World(first, Rules(max_unavailable=ratio))
    world.start(first)
    assert world.available() == SIZE
    world.kind = second
    down = most_unavailable(ratio, SIZE)
    assert move(world) >= SIZE - down
    world.kind = first
    assert move(world) >= SIZE - down


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("rounds", range(1, 12))
def test_the_kind_may_be_changed_back_at_any_moment(first: str, second: str, rounds: int) -> None:
    world = World(first)
    world.start(first)
    world.kind = second
    for _ in range(rounds):
        if not world.facts().others:
            break
        world.ordered()
        assert world.available() >= SIZE - 1
        world.run()
        assert world.available() >= SIZE - 1
    world.kind = first
    assert move(world) >= SIZE - 1


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_partition_keeps_its_share_of_the_old_kind(first: str, second: str) -> None:
    world = World(first, Rules(partition=Fraction(1, 2)))
    world.start(first)
    world.kind = second
    for _ in range(30):
        world.ordered()
        world.run()
        assert world.available() >= SIZE - 1
    assert {kind: one.replicas for kind, one in world.live.items()} == {first: 2, second: 2}
    assert world.available() == SIZE


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_paused_nothing_moves(first: str, second: str) -> None:
    world = World(first, Rules(paused=True))
    world.start(first)
    world.kind = second
    before = dict(world.pods)
    for _ in range(3):
        assert not world.ordered().evict
        world.run()
    assert world.pods == before


def test_a_statefulset_and_a_leader_worker_set_do_not_share_a_name() -> None:
    for first, second in PAIRS:
        world = World(first)
        world.start(first)
        world.kind = second
        [new, old] = world.ordered().workloads
        assert old.name == "llm-web"
        shares = "Deployment" in (first, second)
        assert new.name == ("llm-web" if shares else f"llm-web-{REVISION[second]}")


def test_a_template_that_is_not_known_any_more_is_told() -> None:
    world = World("StatefulSet")
    world.start("StatefulSet")
    world.kind = "Deployment"
    view = change(world.facts(), {})
    planned = plan([view.role(None)], Rules()).roles["web"]
    with pytest.raises(LookupError, match="the template of StatefulSet llm-web any more"):
        order("llm", view, planned, None, {})


def test_a_broken_replica_of_a_low_ordinal_holds_up_nothing() -> None:
    world = World("StatefulSet")
    world.start("StatefulSet")
    broken = next(pod for pod in world.of("StatefulSet") if pod.metadata.labels["number"] == "0")
    meta = msgspec.structs.replace(broken.metadata, name="old-0")
    del world.pods[broken.metadata.name]
    world.pods["old-0"] = msgspec.structs.replace(
        broken, metadata=meta, status=_status(ready=False)
    )
    world.stuck = frozenset({0})
    world.kind = "Deployment"
    assert move(world) >= SIZE - 1


def test_what_was_not_seen_yet_is_not_passed_while_too_few_serve() -> None:
    """Pods of a scale-up that the store does not have yet may be ready: nothing is lowered past
    them, unless the others hold the limit without them."""
    world = World("StatefulSet")
    world.start("StatefulSet")
    world.kind = "Deployment"
    for name in ("statefulset-2", "statefulset-3"):
        del world.pods[name]
    unseen = replace(world.live["StatefulSet"], made=SIZE)
    facts = replace(world.facts(), others=[unseen])
    view = change(facts, {})
    planned = plan([view.role(None)], Rules()).roles["web"]
    [_, old] = order("llm", view, planned, None, TEMPLATES).workloads
    assert old.replicas == SIZE
    known = replace(facts, others=[replace(unseen, made=2)])
    roomy = Rules(max_unavailable=Fraction(1, 2))
    view = change(known, {})
    planned = plan([view.role(roomy.max_unavailable)], roomy).roles["web"]
    [_, old] = order("llm", view, planned, roomy.max_unavailable, TEMPLATES).workloads
    assert old.replicas == 2, "these are gone, and the two that are left are enough"


def test_a_partition_of_everything_lets_the_old_workload_grow() -> None:
    world = World("StatefulSet", Rules(partition=Fraction(1)))
    world.start("StatefulSet")
    world.live["StatefulSet"] = replace(world.live["StatefulSet"], replicas=2)
    world.kind = "Deployment"
    for _ in range(6):
        world.ordered()
        world.run()
    assert {kind: one.replicas for kind, one in world.live.items()} == {
        "StatefulSet": SIZE,
        "Deployment": 0,
    }


def test_an_update_of_the_old_workload_stops() -> None:
    world = World("StatefulSet")
    world.start("StatefulSet")
    world.kind = "Deployment"
    [_, old] = world.ordered().workloads
    assert old.partition == SIZE


def test_a_pod_that_is_ready_for_a_moment_costs_as_much_as_any_other() -> None:
    world = World("StatefulSet")
    world.start("StatefulSet")
    world.kind = "Deployment"
    held = msgspec.structs.replace(role("Deployment"), min_ready_seconds=60)
    facts = replace(world.facts(), role=held, now=datetime(2026, 1, 1, tzinfo=UTC))
    recent = "2025-12-31T23:59:50Z"
    condition = RolePodCondition(type="Ready", status="True", last_transition_time=recent)
    status = RolePodStatus(phase="Running", conditions=[condition])
    pods = [msgspec.structs.replace(pod, status=status) for pod in facts.pods]
    facts = replace(facts, pods=pods)
    view = change(facts, {})
    planned = plan([view.role(None)], Rules()).roles["web"]
    assert not order("llm", view, planned, None, TEMPLATES).evict


@pytest.mark.parametrize(("partition", "kept", "serving"), [(1, 1, 4), (0, 0, 3)])
def test_what_the_new_workload_takes_down_by_itself_does_not_serve(
    partition: int, kept: int, serving: int
) -> None:
    """It got another template while it came up, and its first pod was not ready then."""
    world = World("Deployment")
    world.start("Deployment")
    world.live["Deployment"] = replace(world.live["Deployment"], replicas=3)
    world.live["StatefulSet"] = WorkloadFacts(
        "llm-web", "StatefulSet", 1, REVISION["StatefulSet"], partition=partition
    )
    world.run()
    world.run()
    first = world.pods["statefulset-0"]
    labels = {**first.metadata.labels, role_revision_label("web"): "earlier"}
    meta = msgspec.structs.replace(first.metadata, labels=labels)
    world.pods["statefulset-0"] = msgspec.structs.replace(first, metadata=meta)
    world.kind = "StatefulSet"
    view = change(world.facts(), {})
    assert (view.kept, view.serving_old) == (kept, serving)
    planned = plan([view.role(None)], Rules()).roles["web"]
    made = order("llm", view, planned, None, TEMPLATES)
    assert (made.workloads[0].partition, len(made.evict)) == (partition, serving - 3)


class TestDeploymentsInTheMiddleOfAnUpdate:
    """Three pods of the earlier template serve; one of the present one never will."""

    def facts(self, **more: object) -> RoleFacts:
        world = World("Deployment")
        world.start("Deployment")
        world.kind = "StatefulSet"
        pods = list(world.pods.values())
        label = role_revision_label("web")
        made = []
        for number, pod in enumerate(pods):
            broken = number == 0
            labels = {label: REVISION["Deployment"] if broken else "earlier"}
            labels["pod-template-hash"] = "new" if broken else "old"
            [owner] = pod.metadata.owner_references
            name = f"llm-web-{labels['pod-template-hash']}"
            owner = msgspec.structs.replace(owner, kind="ReplicaSet", name=name)
            meta = msgspec.structs.replace(pod.metadata, labels=labels, owner_references=[owner])
            made.append(RolePod(metadata=meta, status=_status(ready=not broken)))
        return replace(world.facts(), pods=made, **more)  # type: ignore[arg-type]

    def test_all_its_pods_are_its_own(self) -> None:
        view = change(self.facts(), {})
        [old] = view.pair.old
        assert (old.updating, len(view.pair.pods(old)), view.serving_old) == (True, SIZE, 3)

    def test_a_broken_pod_leaves_its_room(self) -> None:
        view = change(self.facts(), {})
        planned = plan([view.role(None)], Rules()).roles["web"]
        made = order("llm", view, planned, None, TEMPLATES)
        [new, old] = made.workloads
        assert (new.replicas, old.replicas) == (1, SIZE)

    def test_it_is_not_lowered_where_a_serving_pod_might_go_too_many(self) -> None:
        facts = self.facts()
        [old] = facts.others
        gone = replace(old, evicted=frozenset({"gone"}))
        view = change(replace(facts, others=[gone]), {})
        planned = plan([view.role(None)], Rules()).roles["web"]
        [_, after] = order("llm", view, planned, None, TEMPLATES).workloads
        assert after.replicas == SIZE
