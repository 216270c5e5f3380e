"""The picture: budgets with their units, groups, and what covers each pod."""

from intact.picture.units import State
from tests.support.pictures import KEY, ago, group, group_pdb, pdb, picture, pod, pub

LWS = "leaderworkerset.sigs.k8s.io"


def test_budgets_of_both_kinds_cover_a_pod() -> None:
    member = pod("a", group="shard-0")
    found = picture(member, pubs=[pub()], pdbs=[pdb(), group_pdb()])
    names = ["pub/llm", "pdb/llm-groups", "pdb/llm-pods"]
    assert [one.reference for one in found.covering(member)] == names
    assert found.covering(pod("b", labels={"app": "db"})) == []


def test_units_that_are_down_for_longest_come_first() -> None:
    pods = [
        *group("shard-0"),
        *group("shard-1", ready=False, since=ago(minutes=1)),
        *group("shard-2", ready=False, since=ago(minutes=9)),
    ]
    [budget] = picture(*pods, pubs=[pub()]).budgets
    assert [unit.name for unit in budget.units] == ["shard-2", "shard-1", "shard-0"]


def test_a_pod_without_a_group_is_a_unit_of_its_own() -> None:
    [budget] = picture(*group("shard-0"), pod("lone"), pubs=[pub()]).budgets
    assert {unit.name: unit.is_group for unit in budget.units} == {"shard-0": True, "lone": False}


def test_finished_pods_are_no_units() -> None:
    [budget] = picture(pod("a", phase="Succeeded"), pdbs=[pdb()]).budgets
    assert budget.units == ()


def test_pods_that_a_budget_has_let_go_do_not_count() -> None:
    record = {"name": "shard-0-0", "operation": "EVICT", "at": ago(seconds=3)}
    ledger = {"pods": {"uid-shard-0-0": {**record, "resourceVersion": "7"}}}
    [unit] = picture(*group("shard-0"), pubs=[pub(ledger=ledger)]).budgets[0].units
    assert (unit.state, unit.since) == (State.DOWN, ago(seconds=3))


def test_an_entry_of_disrupted_pods_stands_for_the_pod_that_was_there() -> None:
    earlier, later = pdb(disrupted={"a": ago(hours=2)}), pdb(disrupted={"a": ago(seconds=5)})
    assert picture(pod("a"), pdbs=[earlier]).budgets[0].units[0].is_up
    assert not picture(pod("a"), pdbs=[later]).budgets[0].units[0].is_up
    assert not picture(pod("a"), pdbs=[pdb(disrupted={"a": "soon"})]).budgets[0].units[0].is_up


def test_groups_that_are_expected_back_are_shown() -> None:
    lost = group_pdb(ledger={"absent": {"shard-9": ago(minutes=1)}})
    [unit, _other] = picture(*group("shard-0"), pdbs=[lost]).budgets[0].units
    assert (unit.name, unit.state, unit.since) == ("shard-9", State.ABSENT, ago(minutes=1))
    gone = pub(ledger={"unavailable_groups": ["shard-0", "shard-9"]})
    units = picture(*group("shard-0"), pubs=[gone]).budgets[0].units
    assert {unit.name: unit.state for unit in units} == {
        "shard-0": State.AVAILABLE,
        "shard-9": State.ABSENT,
    }


def test_a_group_whose_need_is_unknown_is_shown_as_such() -> None:
    member = pod("a", labels={f"{LWS}/name": "llm", f"{LWS}/group-key": "k"})
    [unit] = picture(member, pdbs=[group_pdb(key=None)]).budgets[0].units
    assert (unit.name, unit.state) == ("k", State.UNKNOWN)


def test_a_group_is_listed_once_with_all_its_budgets_and_the_strictest_need() -> None:
    found = picture(*group("shard-0"), pubs=[pub(need=1)], pdbs=[group_pdb(need=2)])
    [(unit, budgets)] = found.groups
    assert unit.need == 2
    assert [one.reference for one in budgets] == ["pub/llm", "pdb/llm-groups"]


def test_groups_of_one_name_in_two_applications_are_two() -> None:
    mine = [pod("a-0", group="0")]
    theirs = [pod("b-0", group="0", labels={"app": "db"})]
    other = pub("db", selector={"matchLabels": {"app": "db"}})
    found = picture(*mine, *theirs, pubs=[pub(), other])
    shown = [(unit.pods[0].metadata.name, budgets[0].name) for unit, budgets in found.groups]
    assert shown == [("b-0", "db"), ("a-0", "llm")]


def test_groups_that_no_budget_counts_are_listed_as_well() -> None:
    labels = {f"{LWS}/name": "llm", f"{LWS}/group-key": "k"}
    sized = {"name": "a", "namespace": "llm", "labels": labels}
    member = pod("a", metadata={**sized, "annotations": {f"{LWS}/size": "2"}})
    [(unit, budgets)] = picture(member, pod("b", group="x")).groups
    assert (unit.name, unit.need, unit.state, budgets) == ("k", 2, State.DOWN, ())
    assert KEY not in unit.pods[0].metadata.labels
