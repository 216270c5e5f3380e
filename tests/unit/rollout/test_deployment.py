"""A role on Deployments: what each of them should be, and which pods may go."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from intact.model.pod import RolePod
from intact.rollout.deployment import lower, order, pair
from intact.rollout.facts import WorkloadFacts
from intact.rollout.names import role_revision_label
from intact.rollout.orders import RolloutStep
from intact.rollout.plan import Rules, plan
from intact.rollout.revisions import hash_of, template_of
from tests.unit.rollout.scene import Scene, pod


def evicted(step: RolloutStep) -> list[str]:
    return [one.pod.metadata.name for one in step.evict]


def deployments(scene: Scene, old: int, new: int | None = None, **more: Any) -> None:
    """`more` is said of the old one."""
    found = [WorkloadFacts("llm-prefill", "a", old, scene.old("prefill"), **more)]
    if new is not None:
        found.append(WorkloadFacts("llm-prefill-b", "b", new, scene.new("prefill")))
    scene.facts["prefill"] = replace(scene.facts["prefill"], workloads=found)


def scales(step: RolloutStep) -> dict[str, int]:
    return {order.name: order.replicas for order in step.orders["prefill"]}


def test_a_new_template_gets_a_deployment_with_no_replicas() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10)
    step = scene.step()
    name = f"llm-prefill-{scene.new('prefill')}"
    assert scales(step) == {name: 0, "llm-prefill": 10}
    old = step.orders["prefill"][1]
    assert old.role.template["spec"]["containers"][0]["image"] == "engine:1"
    assert [(one.pod.metadata.name, one.deployment) for one in step.evict[:2]] == [
        ("llm-prefill-0", "a"),
        ("llm-prefill-1", "a"),
    ]
    assert {one.max_unavailable for one in step.orders["prefill"]} == {0}, "by itself it moves none"


def test_the_new_one_takes_the_room_that_has_become_free() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 8, 0)
    scene.take("prefill", 0, 1)
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 2, "llm-prefill": 8}
    assert evicted(step) == ["llm-decode-4"]


def uids(scene: Scene, *indexes: int) -> frozenset[str]:
    return frozenset(f"llm-prefill-{at}-{scene.old('prefill')}" for at in indexes)


def replaced(scene: Scene, *indexes: int | str) -> None:
    """0 and 1 have gone, and these are there in their place."""
    scene.take("prefill", 0, 1)
    old = scene.old("prefill")
    scene.put("prefill", *(pod("prefill", at, old, ready=False) for at in indexes))


def test_what_was_evicted_does_not_count_and_is_asked_for_until_it_is_seen_to_go() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10, 0, evicted=uids(scene, 0, 1))
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 0, "llm-prefill": 10}
    assert evicted(step) == ["llm-prefill-0", "llm-prefill-1", "llm-decode-4"]
    assert step.settled == []


@pytest.mark.parametrize(
    ("there", "text"),
    [
        ((), "Deployment llm-prefill has 8 of 10 pods and has yet to replace its evicted pods"),
        (("a", "b"), ""),
        (
            ("a", "b", "c"),
            "Deployment llm-prefill has 11 of 10 pods and has yet to delete the others",
        ),
    ],
    ids=["fewer", "as many again", "more"],
)
def test_a_deployment_that_must_wait_says_for_what(there: tuple[str, ...], text: str) -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10, 0, evicted=uids(scene, 0, 1))
    replaced(scene, *there)
    waiting = scene.step().progress["prefill"].waiting_for
    assert text in waiting
    assert ("Deployment" in waiting) is bool(text)


@pytest.mark.parametrize(
    ("there", "scale", "settled"),
    [((), 10, []), (("a",), 10, []), (("a", "b"), 8, ["a"])],
    ids=["none is replaced", "one is replaced", "both are replaced"],
)
def test_a_deployment_is_lowered_once_what_was_evicted_is_replaced(
    there: tuple[str, ...], scale: int, settled: list[str]
) -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10, 0, evicted=uids(scene, 0, 1))
    replaced(scene, *there)
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 10 - scale, "llm-prefill": scale}
    assert step.orders["prefill"][0].name == "llm-prefill-b", "budgets never see fewer than desired"
    assert evicted(step) == ["llm-decode-4"]
    assert step.settled == settled


def test_what_is_above_its_scale_is_waited_for() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 8, 0)
    replaced(scene, "a", "b")
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 2, "llm-prefill": 8}
    assert evicted(step) == ["llm-decode-4"]
    # Nor is it raised, if it is the one that shall stay.
    [old, _] = scene.facts["prefill"].workloads
    scene.facts["prefill"] = replace(scene.facts["prefill"], revision=old.revision)
    assert scales(scene.step())["llm-prefill"] == 8


@pytest.mark.parametrize(("in_batches", "started"), [(False, 2), (True, 0)])
def test_in_batches_the_new_one_waits_for_places_to_be_left(in_batches: bool, started: int) -> None:
    scene = Scene(deployment=True)
    deployments(scene, 8, 0)
    replaced(scene, "a", "b")
    found = pair(scene.facts["prefill"], {})
    ratio = Fraction(1, 5)
    planned = plan([found.role(ratio)], Rules(max_unavailable=ratio)).roles["prefill"]
    earlier = {scene.old("prefill"): template_of(scene.role("prefill", "engine:1"))}
    made = order("llm", found, planned, ratio, earlier, in_batches=in_batches)
    assert [one.replicas for one in made.workloads] == [started, 8]


@pytest.mark.parametrize(("counted", "scale"), [(10, 10), (9, 10), (8, 8)])
def test_one_that_cannot_make_pods_is_lowered_once_it_has_counted_them(
    counted: int, scale: int
) -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10, 0, evicted=uids(scene, 0, 1), short=counted)
    replaced(scene)
    assert scales(scene.step()) == {"llm-prefill-b": 10 - scale, "llm-prefill": scale}


def test_failed_pods_and_pods_without_a_controller_are_not_its_own() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10, 0)
    old = scene.old("prefill")
    failed, copied = pod("prefill", "failed", old), pod("prefill", "copied", old)
    status = msgspec.structs.replace(failed.status, phase="Failed")
    meta = msgspec.structs.replace(copied.metadata, owner_references=[])
    scene.put(
        "prefill",
        msgspec.structs.replace(failed, status=status),
        msgspec.structs.replace(copied, metadata=meta),
    )
    assert evicted(scene.step())[:2] == ["llm-prefill-0", "llm-prefill-1"]


def test_old_pods_serve_until_new_ones_do_also_when_fewer_are_wanted() -> None:
    scene = Scene(deployment=True, strategy={"maxSkew": "100%", "maxUnavailableRatio": "50%"})
    scene.take("prefill", *range(5, 10))
    deployments(scene, 5, 5)
    new = scene.new("prefill")
    scene.put("prefill", *(pod("prefill", f"n{at}", new, ready=False) for at in range(5)))
    scene.facts["prefill"] = replace(scene.facts["prefill"], desired=4)
    gone = [name for name in evicted(scene.step()) if name.startswith("llm-prefill")]
    assert gone == ["llm-prefill-0", "llm-prefill-1", "llm-prefill-2"], "two of four may be missing"


@pytest.mark.parametrize(
    ("ratio", "old_serve", "new_serve", "new", "gone"),
    [
        ("50%", True, False, 1, 2),
        ("50%", True, True, 1, 2),
        ("0%", True, False, 1, 1),
        ("50%", False, True, 3, 4),
    ],
    ids=["new ones are broken", "all serve", "none may be missing", "old ones are broken"],
)
def test_a_scale_in_leaves_what_the_partition_keeps(
    ratio: str, old_serve: bool, new_serve: bool, new: int, gone: int
) -> None:
    """From eight to three, four of them new: two are to stay old."""
    rules = {"maxSkew": "100%", "maxUnavailableRatio": ratio, "partition": "50%"}
    scene = Scene(8, deployment=True, strategy=rules)
    scene.take("prefill", *range(8))
    deployments(scene, 4, 4)
    revisions = {"o": (scene.old("prefill"), old_serve), "n": (scene.new("prefill"), new_serve)}
    for name, (revision, serve) in revisions.items():
        scene.put(
            "prefill", *(pod("prefill", f"{name}{at}", revision, ready=serve) for at in range(4))
        )
    scene.facts["prefill"] = replace(scene.facts["prefill"], desired=3)
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": new, "llm-prefill": 4}
    assert len([name for name in evicted(step) if name.startswith("llm-prefill")]) == gone


def test_what_the_new_one_is_lowered_by_serves_no_more() -> None:
    """Its ReplicaSet may not know yet which of its pods is ready."""
    scene = Scene(deployment=True, strategy={"maxSkew": "100%", "maxUnavailableRatio": "0%"})
    scene.take("prefill", *range(1, 10))
    deployments(scene, 1, 2)
    new = scene.new("prefill")
    scene.put("prefill", pod("prefill", "n0", new), pod("prefill", "n1", new, ready=False))
    scene.facts["prefill"] = replace(scene.facts["prefill"], desired=1)
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 1, "llm-prefill": 1}
    assert "llm-prefill-0" not in evicted(step)


def test_of_several_old_deployments_broken_pods_go_first() -> None:
    scene = Scene(deployment=True, strategy={"maxSkew": "100%", "maxUnavailableRatio": "10%"})
    scene.put("prefill", pod("prefill", 3, scene.old("prefill"), ready=False))
    scene.images = ("engine:1", "engine:1b", "engine:2")
    younger = hash_of(template_of(scene.role("prefill", "engine:1b")))
    scene.take("prefill", *range(5, 10))
    scene.put("prefill", *(pod("prefill", f"y{at}", younger) for at in range(5)))
    found = [
        WorkloadFacts("llm-prefill", "a", 5, scene.old("prefill")),
        WorkloadFacts("llm-prefill-y", "y", 5, younger),
    ]
    scene.facts["prefill"] = replace(scene.facts["prefill"], workloads=found)
    gone = [name for name in evicted(scene.step()) if name.startswith("llm-prefill")]
    assert gone == ["llm-prefill-3"], "there is no room for one that serves"


def test_broken_old_pods_go_first() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 10, 0)
    scene.put("prefill", pod("prefill", 7, scene.old("prefill"), ready=False))
    assert evicted(scene.step())[:2] == ["llm-prefill-7", "llm-prefill-0"]


def test_where_none_may_be_unavailable_one_runs_ahead() -> None:
    scene = Scene(deployment=True, strategy={"maxSkew": "20%", "maxUnavailableRatio": "0%"})
    deployments(scene, 10, 0)
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 1, "llm-prefill": 10}
    assert evicted(step) == []
    scene.put("prefill", pod("prefill", "n0", scene.new("prefill")))
    deployments(scene, 10, 1)
    # Decode may not move at all by these rules: prefill goes on within the skew.
    step = scene.step()
    assert scales(step) == {"llm-prefill-b": 2, "llm-prefill": 10}
    assert evicted(step) == ["llm-prefill-0"]


def test_at_the_end_one_deployment_remains() -> None:
    scene = Scene(deployment=True)
    deployments(scene, 0, 10)
    new = scene.new("prefill")
    pods = [pod("prefill", f"n{at}", new) for at in range(10)]
    scene.facts["prefill"] = replace(scene.facts["prefill"], pods=pods)
    assert scales(scene.step()) == {"llm-prefill-b": 10}


def test_the_plain_name_is_taken_up_again() -> None:
    scene = Scene(deployment=True)
    found = [WorkloadFacts("llm-prefill-0", "a", 10, scene.old("prefill"))]
    scene.facts["prefill"] = replace(scene.facts["prefill"], workloads=found)
    assert scales(scene.step()) == {"llm-prefill": 0, "llm-prefill-0": 10}


def test_an_old_template_that_is_nowhere_any_more_stops_it() -> None:
    scene = Scene(deployment=True)
    found = [WorkloadFacts("llm-prefill", "a", 10, "unknown")]
    scene.facts["prefill"] = replace(scene.facts["prefill"], workloads=found)
    with pytest.raises(LookupError, match="llm-prefill"):
        scene.step()


def test_a_role_is_scaled_in_while_it_is_paused() -> None:
    scene = Scene(deployment=True, paused=True)
    deployments(scene, 10, 0)
    scene.facts["prefill"] = replace(scene.facts["prefill"], desired=8)
    step = scene.step()
    assert len(step.evict) == 2
    assert [one.replicas for one in step.orders["prefill"]] == [0, 10]


def test_a_paused_role_moves_no_pod() -> None:
    scene = Scene(deployment=True, paused=True)
    deployments(scene, 10, 0)
    assert scene.step().evict == []


def owned(
    index: str, deployment: str, revision: str, *, ready: bool = True, by: str = ""
) -> RolePod:
    """A pod of the Deployment of this name, and of its ReplicaSet with this hash; without one, of
    the one of its revision."""
    by = by or revision
    made = pod("prefill", index, revision, ready=ready, labels={"pod-template-hash": by})
    [owner] = made.metadata.owner_references
    owner = msgspec.structs.replace(owner, kind="ReplicaSet", name=f"{deployment}-{by}")
    meta = msgspec.structs.replace(made.metadata, owner_references=[owner])
    return msgspec.structs.replace(made, metadata=meta)


class TestAnOldDeploymentInTheMiddleOfAnUpdateOfItsOwn:
    """Its role was in no coordination when it got engine:2, whose pods are never ready; engine:3 is
    rolled out by a coordination."""

    def scene(self, *, serving: int = 3, broken: int = 2) -> Scene:
        rules = {"maxSkew": "50%", "maxUnavailableRatio": "25%"}
        scene = Scene(prefill=4, deployment=True, strategy=rules)
        scene.images = ("engine:1", "engine:2", "engine:3")
        for name in scene.facts:
            role = scene.role(name, "engine:3")
            revision = hash_of(template_of(role))
            facts = replace(scene.facts[name], role=role, revision=revision)
            if name == "prefill":
                first, second = scene.old(name), scene.new(name)
                facts = replace(
                    facts,
                    workloads=[WorkloadFacts("llm-prefill", "a", 4, second)],
                    pods=[
                        *(owned(f"x{at}", "llm-prefill", first) for at in range(serving)),
                        *(
                            owned(f"y{at}", "llm-prefill", second, ready=False)
                            for at in range(broken)
                        ),
                    ],
                )
            scene.facts[name] = facts
        return scene

    def test_it_goes_to_the_template_that_serves_before_it_is_lowered(self) -> None:
        scene = self.scene()
        step = scene.step()
        [_, old] = step.orders["prefill"]
        assert (old.name, old.revision, old.replicas) == ("llm-prefill", scene.old("prefill"), 4)
        assert old.max_unavailable == 0, "so it takes down only what does not serve"
        assert not [name for name in evicted(step) if "prefill" in name]
        waits = step.progress["prefill"].waiting_for
        assert "Deployment llm-prefill has pods of two templates and has yet to keep one" in waits

    def test_it_is_lowered_once_its_pods_have_one_template(self) -> None:
        scene = self.scene(serving=4, broken=0)
        [live] = scene.facts["prefill"].workloads
        live = replace(live, revision=scene.old("prefill"))
        scene.facts["prefill"] = replace(scene.facts["prefill"], workloads=[live])
        assert [name for name in evicted(scene.step()) if "prefill" in name]

    def test_where_nothing_serves_there_is_nothing_to_keep(self) -> None:
        scene = self.scene(serving=0, broken=3)
        first = owned("x", "llm-prefill", scene.old("prefill"), ready=False)
        scene.put("prefill", first)
        step = scene.step()
        [_, old] = step.orders["prefill"]
        assert old.revision == scene.new("prefill")
        assert [name for name in evicted(step) if "prefill" in name]

    def test_a_forged_label_is_no_update(self) -> None:
        scene = self.scene(serving=4, broken=0)
        [live] = scene.facts["prefill"].workloads
        live = replace(live, revision=scene.old("prefill"))
        facts = replace(scene.facts["prefill"], workloads=[live])
        label = role_revision_label("prefill")
        facts.pods[0].metadata.labels[label] = scene.new("prefill")
        assert not pair(facts, {}).old[0].updating

    def test_a_template_that_is_nowhere_any_more_cannot_be_kept(self) -> None:
        scene = self.scene()
        scene.images = ("engine:2", "engine:3")
        [_, old] = scene.step().orders["prefill"]
        assert old.revision == scene.new("prefill")


class TestAnOldDeploymentWhoseTemplateAnotherClientChanged:
    """Intact gave it engine:2 back, whose pods are never ready. Those of the other template serve,
    and carry the same revision."""

    def scene(self, *, serving: int = 3, new: int = 0, **more: Any) -> Scene:
        """`more` is said of the old one."""
        rules = {"maxUnavailableRatio": "25%"}
        scene = Scene(prefill=4, deployment=True, strategy=rules)
        scene.images = ("engine:1", "engine:2", "engine:3")
        for name in scene.facts:
            role = scene.role(name, "engine:3")
            facts = replace(scene.facts[name], role=role, revision=hash_of(template_of(role)))
            scene.facts[name] = facts
        facts, second = scene.facts["prefill"], scene.new("prefill")
        scene.facts["prefill"] = replace(
            facts,
            workloads=[
                WorkloadFacts("llm-prefill", "a", 4, second, **more),
                WorkloadFacts("llm-prefill-b", "b", new, facts.revision),
            ],
            pods=[
                *(owned(f"x{at}", "llm-prefill", second, by="other") for at in range(serving)),
                *(owned(f"y{at}", "llm-prefill", second, ready=False) for at in range(2)),
                *(owned(f"z{at}", "llm-prefill-b", facts.revision) for at in range(new)),
            ],
        )
        return scene

    @pytest.mark.parametrize(
        ("serving", "new", "unavailable"),
        [
            pytest.param(3, 0, 0, id="none can be spared"),
            pytest.param(3, 1, 2, id="one can be spared"),
            pytest.param(3, 2, 3, id="two can be spared"),
            pytest.param(2, 3, 4, id="all can be spared"),
        ],
    )
    def test_its_own_update_takes_down_what_can_be_spared(
        self, serving: int, new: int, unavailable: int
    ) -> None:
        scene = self.scene(serving=serving, new=new)
        step = scene.step()
        [_, old] = step.orders["prefill"]
        assert (old.revision, old.replicas) == (scene.new("prefill"), 4)
        assert old.max_unavailable == unavailable
        assert not [name for name in evicted(step) if "prefill" in name]
        waits = step.progress["prefill"].waiting_for
        assert "Deployment llm-prefill has pods of two templates and has yet to keep one" in waits

    def test_what_it_may_take_down_counts_as_gone(self) -> None:
        """So nothing else is spared in its place before it has."""
        scene = self.scene(new=1, unavailable=2)
        step = scene.step()
        [_, old] = step.orders["prefill"]
        assert old.max_unavailable == 2
        view = pair(scene.facts["prefill"], {})
        assert (view.serving(view.old[0]), view.spare(Fraction(1, 4))) == (2, 0)

    def test_it_waits_until_its_own_update_has_taken_them_down(self) -> None:
        scene = self.scene(serving=2, new=3, unavailable=4)
        step = scene.step()
        [_, old] = step.orders["prefill"]
        assert (old.replicas, old.max_unavailable) == (4, 4)
        assert not [name for name in evicted(step) if "prefill" in name]

    def test_it_may_take_down_less_once_less_can_be_spared(self) -> None:
        scene = self.scene(new=1, unavailable=2)
        revision = scene.facts["prefill"].revision
        scene.put("prefill", owned("z0", "llm-prefill-b", revision, ready=False))
        [_, old] = scene.step().orders["prefill"]
        assert old.max_unavailable == 0

    def test_what_the_partition_keeps_stays(self) -> None:
        scene = self.scene(serving=4, new=2)
        view = pair(scene.facts["prefill"], {})
        templates = {scene.new("prefill"): template_of(scene.role("prefill", "engine:2"))}
        [old] = lower(view, 3, 4, templates).workloads
        assert old.max_unavailable == 1

    def test_it_is_lowered_once_its_pods_have_one_template(self) -> None:
        scene = self.scene(serving=0, new=4, unavailable=4)
        pods = [f"llm-prefill-y{at}" for at in range(4)]
        second = scene.new("prefill")
        scene.put("prefill", *(owned(one[12:], "llm-prefill", second, ready=False) for one in pods))
        step = scene.step()
        [_, old] = step.orders["prefill"]
        assert (old.replicas, old.max_unavailable) == (4, 0)
        assert evicted(step)[:4] == pods


def test_of_two_deployments_of_the_present_template_one_goes_down_within_the_rules() -> None:
    scene = Scene(prefill=4, deployment=True)
    new = scene.new("prefill")
    found = [
        WorkloadFacts("llm-prefill-b", "b", 2, new),
        WorkloadFacts("llm-prefill", "a", 4, new),
    ]
    pods = [owned(f"a{at}", "llm-prefill", new) for at in range(4)]
    pods += [owned(f"b{at}", "llm-prefill-b", new) for at in range(2)]
    scene.facts["prefill"] = replace(scene.facts["prefill"], workloads=found, pods=pods)
    step = scene.step()
    assert scales(step) == {"llm-prefill": 4, "llm-prefill-b": 2}, "none of them is deleted"
    assert evicted(step)[:2] == ["llm-prefill-b0", "llm-prefill-b1"]
