"""Which budgets cover which pods: after any course of events the same as asked one by one."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from intact.budget.selectors import Selector
from intact.kube.store import Key, Store
from intact.model.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from intact.model.pod import Pod, PodMeta
from intact.model.pub import PodUnavailableBudget
from intact.operator.watch.membership import BudgetEntry, Membership
from intact.operator.watch.owners import Chain, Owner, Target
from intact.operator.watch.shared import POD_INDEXES

NAMESPACE = "ns"
TOP = Target("apps", "StatefulSet", "top")
OTHER = Target("apps", "StatefulSet", "other")


def selector(**labels: str) -> Selector:
    return Selector(LabelSelector(match_labels=labels))


def without(key: str) -> Selector:
    """It asks for no label in particular: any pod of the namespace may be selected."""
    rule = LabelSelectorRequirement(key=key, operator="DoesNotExist")
    return Selector(LabelSelector(match_expressions=[rule]))


def pod(name: str, namespace: str = NAMESPACE, **labels: str) -> Pod:
    return Pod(metadata=PodMeta(name=name, namespace=namespace, uid=f"u-{name}", labels=labels))


def below(target: Target | None) -> Chain:
    if target is None:
        return Chain()
    return Chain((Owner(target.group, target.kind, target.name, f"uid-{target.name}"),))


def key(name: str) -> Key:
    return NAMESPACE, name


Budget = BudgetEntry[PodUnavailableBudget]


def entry(name: str, version: int = 1) -> Budget:
    meta = ObjectMeta(name=name, namespace=NAMESPACE, resource_version=str(version))
    return BudgetEntry(PodUnavailableBudget(metadata=meta))


def index(pods: "Pods | None" = None) -> Membership[Budget]:
    return Membership(pods or Pods())


class Pods(Store[Pod]):
    """Counts how often all pods of a namespace are looked through."""

    def __init__(self) -> None:
        super().__init__(POD_INDEXES)
        self.walks = 0

    def by_index(self, index: str, value: str) -> list[Pod]:
        self.walks += index == "namespace"
        return super().by_index(index, value)


LABELS: list[Mapping[str, str]] = [{}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"}]
RULES: list[Selector | Target | None] = [
    selector(app="a"),
    selector(app="b", tier="x"),
    selector(),
    without("tier"),
    TOP,
    None,
]
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("pod"),
            st.sampled_from(["p", "q", "r"]),
            st.sampled_from(range(len(LABELS))),
            st.sampled_from([None, TOP, OTHER]),
        ),
        st.tuples(st.just("gone"), st.sampled_from(["p", "q", "r"])),
        st.tuples(
            st.just("budget"), st.sampled_from(["b", "c"]), st.sampled_from(range(len(RULES)))
        ),
    ),
    max_size=40,
)


def covers(rule: Selector | Target | None, one: Pod, chain: Chain) -> bool:
    if isinstance(rule, Target):
        return rule in [owner.target for owner in chain.owners]
    return rule is not None and rule.selects(one.metadata.labels)


@given(steps)
def test_members_are_the_same_as_asked_one_by_one(course: list[tuple[object, ...]]) -> None:
    pods = Pods()
    membership = index(pods)
    chains: dict[str, Chain] = {}
    rules: dict[Key, Selector | Target | None] = {}
    for step in course:
        match step:
            case ("pod", str(name), int(labels), target):
                chains[name] = below(target)  # type: ignore[arg-type]
                pods.put(pod(name, **LABELS[labels]))
                membership.match(pod(name, **LABELS[labels]), chains[name])
            case ("gone", str(name)):
                pods.remove(key(name))
                membership.drop(f"u-{name}")
            case ("budget", str(name), int(rule)):
                if key(name) in rules:
                    membership.remove(key(name))
                rules[key(name)] = RULES[rule]
                membership.add(entry(name), RULES[rule])
                for one in membership.selected(key(name)) or list(pods):
                    membership.match(one, chains[one.metadata.name])
        for budget, rule_of in rules.items():
            expected = {
                one.metadata.uid for one in pods if covers(rule_of, one, chains[one.metadata.name])
            }
            assert set(membership.entries[budget].members) == expected
        for one in pods:
            uid, chain = one.metadata.uid, chains[one.metadata.name]
            assert set(membership.budgets_of(uid)) == _keys(membership.covering(one, chain))


def _keys(entries: list[Budget]) -> set[Key]:
    return {one.key for one in entries}


def test_a_new_budget_looks_only_at_pods_that_may_be_its_own() -> None:
    pods = Pods()
    for number in range(6):
        pods.put(pod(f"p{number}", app="a" if number < 2 else "b"))
    membership = index(pods)
    membership.add(entry("first"), selector(app="b"))  # from now on pods are known by `app`
    pods.walks = 0
    membership.add(entry("second"), selector(app="a"))
    assert [one.metadata.name for one in membership.selected(key("second"))] == ["p0", "p1"]
    assert pods.walks == 0


def test_a_match_tells_which_budgets_a_pod_leaves() -> None:
    membership = index()
    membership.add(entry("a"), selector(app="a"))
    membership.add(entry("b"), selector(app="b"))
    assert membership.match(pod("p", app="a")).keys == (key("a"),)
    moved = membership.match(pod("p", app="b"))
    assert (moved.before, moved.keys, moved.left) == ((key("a"),), (key("b"),), [key("a")])


def test_namespaces_are_known_by_their_budgets() -> None:
    membership = index()
    membership.add(entry("by-label"), selector(app="a"))
    assert membership.has_budgets(NAMESPACE)
    assert not membership.has_targets(NAMESPACE)
    membership.add(entry("by-name"), TOP)
    assert membership.has_targets(NAMESPACE)
    assert membership.budgets_in(NAMESPACE) == [key("by-label"), key("by-name")]
    membership.remove(key("by-name"))
    membership.remove(key("by-label"))
    assert not membership.has_targets(NAMESPACE)
    assert not membership.has_budgets(NAMESPACE)


def test_pods_of_other_namespaces_are_not_covered() -> None:
    membership = index()
    membership.add(entry("b"), selector(app="a"))
    assert membership.covering(pod("p", "elsewhere", app="a")) == []


def test_readings_of_a_budget_are_told_apart_by_their_version() -> None:
    known = entry("b", version=9)
    assert known.is_older_than(entry("b", version=10).budget)
    assert not known.is_older_than(entry("b", version=9).budget)
