"""`intact why group/NAME`, word for word."""

from intact.cli.why.group import about_groups
from intact.picture.picture import Picture
from tests.support.pictures import NOW, ago, group, group_pdb, picture, pod, pub, unschedulable

DOWN = unschedulable("shard-0-1", ago(minutes=4), group="shard-0")
PODS = [*group("shard-1"), pod("shard-0-0", group="shard-0"), DOWN]
LEDGER = {"unavailable_groups": ["shard-0"]}
FOUND = picture(*PODS, pubs=[pub(ledger=LEDGER)])


def said(found: Picture, name: str) -> list[str]:
    groups = [one for one in found.groups if one[0].name == name]
    answer = about_groups(found, groups, NOW)
    return [*answer.lines, f"exit {answer.exit_code}"]


def test_a_group_that_is_up_and_held() -> None:
    assert said(FOUND, "shard-1") == [
        "group shard-1 (2 of 2 ready, needs 2) is available",
        "  shard-1-0  ready  node-0",
        "  shard-1-1  ready  node-0",
        "  pub/llm   3 of 4 groups are available, the budget requires 3   waits for 4m",
        "    holds 2 pods: shard-1-0, shard-1-1",
        (
            "    shard-0 is down for 4m: shard-0-1 Pending, "
            "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu"
        ),
        "    They may go when shard-0 is ready again.",
        "exit 3",
    ]


def test_a_group_that_is_down() -> None:
    assert said(FOUND, "shard-0") == [
        "group shard-0 (1 of 2 ready, needs 2) is down for 4m",
        "  shard-0-0  ready  node-0",
        "  shard-0-1  down   -",
        (
            "  shard-0 is down for 4m: shard-0-1 Pending, "
            "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu"
        ),
        "It may go now.",
        "exit 0",
    ]


def test_a_group_that_is_awaited() -> None:
    lost = group_pdb(ledger={"absent": {"shard-9": ago(minutes=1)}})
    assert said(picture(*group("shard-1"), pdbs=[lost]), "shard-9") == [
        "group shard-9 (0 of 0 ready, needs 1) is absent for 60s",
        "exit 0",
    ]


def test_a_group_that_no_budget_counts() -> None:
    lws = "leaderworkerset.sigs.k8s.io"
    labels = {f"{lws}/name": "llm", f"{lws}/group-key": "k"}
    meta = {"name": "a", "namespace": "llm", "uid": "u", "labels": labels}
    member = pod("a", metadata={**meta, "annotations": {f"{lws}/size": "1"}})
    lines = said(picture(member), "k")
    assert lines[-3:] == ["  no budget counts it", "It may go now.", "exit 0"]


def test_two_groups_of_one_name_are_both_shown() -> None:
    other = pub("db", selector={"matchLabels": {"app": "db"}})
    theirs = pod("b", group="shard-1", labels={"app": "db"})
    found = picture(*group("shard-1"), theirs, pubs=[pub(), other])
    groups = [one for one in found.groups if one[0].name == "shard-1"]
    answer = about_groups(found, groups, NOW)
    assert sum(line.startswith("group shard-1") for line in answer.lines) == 2
    assert len(answer.document["items"]) == 2


def test_a_document_has_pods_and_budgets() -> None:
    groups = [one for one in FOUND.groups if one[0].name == "shard-1"]
    document = about_groups(FOUND, groups, NOW).document
    assert (document["name"], document["budgets"]) == ("shard-1", ["pub/llm"])
    assert [one["name"] for one in document["pods"]] == ["shard-1-0", "shard-1-1"]
    assert document["verdict"] == "waits"
