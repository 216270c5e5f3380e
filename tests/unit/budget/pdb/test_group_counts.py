"""Live counts of groups: after any course of events the same as counting from scratch."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from intact.budget.pdb.group_counts import Counted, GroupCounts, Seen
from intact.budget.pdb.group_settings import GroupSettings
from intact.budget.pdb.group_sources import Source
from intact.model.pod import Pod
from tests.unit.budget.pdb.group_cases import EARLY, Known, a_pod, a_pod_group, groups_of

NAMES = [f"p{number}" for number in range(7)]
GROUPS = ["", "red", "blue", "green"]
PODS = st.builds(
    lambda name, group, ready, going: a_pod(name, group, ready=ready, going=going),
    st.sampled_from(NAMES),
    st.sampled_from(GROUPS),
    st.booleans(),
    st.booleans(),
)
NEEDS = st.none() | st.integers(1, 3)
STEPS = st.lists(
    st.one_of(
        PODS,
        st.tuples(st.just("remove"), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(GROUPS[1:]), NEEDS),
    ),
    max_size=40,
)
Step = Pod | tuple[str, str] | tuple[str, int | None]


def from_scratch(pods: dict[str, Pod], known: Known, recorded: set[str]) -> Counted:
    healthy: Counter[str] = Counter()
    groups = {pod.spec.scheduling_group.pod_group_name for pod in pods.values() if _group(pod)}  # type: ignore[union-attr]
    for uid, pod in pods.items():
        ready = pod.status.conditions[0].status == "True"
        going = pod.metadata.deletion_timestamp is not None
        if _group(pod) and ready and not going and uid not in recorded:
            healthy[_group(pod)] += 1
    needs = {}
    for group in groups:
        found = known.pod_groups.get(group)
        if found is not None and found.spec.scheduling_policy.gang is not None:
            needs[group] = found.spec.scheduling_policy.gang.min_count
    return Counted(
        healthy=sum(healthy[group] for group in needs),
        unavailable={g: healthy[g] for g, need in needs.items() if healthy[g] < need},
        surplus={g: healthy[g] - need for g, need in needs.items() if healthy[g] > need},
        needs=dict(Counter(need for g, need in needs.items() if healthy[g] >= need)),
    )


def _group(pod: Pod) -> str:
    found = pod.spec.scheduling_group
    return found.pod_group_name if found else ""


@given(steps=STEPS, recorded=st.sets(st.sampled_from([f"uid-{name}" for name in NAMES])))
def test_after_any_changes_the_counts_are_as_from_scratch(
    steps: list[Step], recorded: set[str]
) -> None:
    known = groups_of(2, "red", "blue")
    counts = GroupCounts(GroupSettings(), known)
    pods: dict[str, Pod] = {}
    for step in steps:
        match step:
            case Pod():
                before = pods.get(step.metadata.uid)
                assert counts.put(step) or before is not None
                pods[step.metadata.uid] = step
            case ("remove", name):
                uid = f"uid-{name}"
                assert counts.remove(uid) == (uid in pods)
                pods.pop(uid, None)
            case (group, need):
                known.pod_groups.pop(group, None)
                if isinstance(need, int):
                    known.pod_groups[group] = a_pod_group(group, need, "llm")
                counts.redefine(Source.POD_GROUP, group)
        assert counts.without(recorded) == from_scratch(pods, known, recorded)
    named = {_group(pod) for pod in pods.values()} - {""}
    assert set(counts.groups) == named
    assert set(counts.undefined) == named - known.pod_groups.keys()
    assert set(counts.unreferenced) == {uid for uid, pod in pods.items() if not _group(pod)}
    assert sum(counts.families.values()) == len(named & known.pod_groups.keys())
    assert counts.pods == len(pods)


def test_a_group_whose_last_pod_has_gone_is_remembered_until_it_is_forgotten() -> None:
    counts = GroupCounts(GroupSettings(), groups_of(1, "red"))
    counts.put(a_pod("p", "red", owner="set"))
    counts.remove("uid-p")
    [(family, controllers)] = counts.vanished.values()
    assert (family.name, [each.name for each in controllers]) == ("llm", ["set"])
    counts.put(a_pod("q", "red"))
    assert counts.vanished == {}
    counts.remove("uid-q")
    counts.forget(["red"], [])
    assert counts.vanished == {}


def test_a_group_that_its_controller_has_left_behind_does_not_end_with_it() -> None:
    counts = GroupCounts(GroupSettings(), groups_of(1, "red"))
    counts.put(a_pod("p", "red", owner="set"))
    counts.put(a_pod("q", "red", owner="set"))
    for name in ("p", "q"):
        counts.put(a_pod(name, "red"))
    counts.remove("uid-p")
    counts.remove("uid-q")
    [(_, controllers)] = counts.vanished.values()
    assert controllers == ()


def test_evicted_pods_are_remembered_until_they_are_forgotten() -> None:
    counts = GroupCounts(GroupSettings(), groups_of(1, "red"))
    counts.put(a_pod("p", "red", evicted=EARLY))
    assert counts.evicted == {}
    assert counts.put(a_pod("p", "red", evicted=EARLY, going=True))
    assert counts.evicted == {"p": Seen("uid-p", EARLY)}
    counts.forget([], ["p"])
    assert counts.evicted == {}
