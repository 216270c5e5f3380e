"""Pods, gathered by what holds them."""

from intact.cli.why.holders import gathered, holder_document, holder_lines
from intact.picture.verdict import Judge
from tests.support.pictures import NOW, ago, group, pdb, picture, pod, pub, unschedulable

SHARDS = [*group("shard-1"), *group("shard-2")]
DOWN = unschedulable("shard-0-0", ago(minutes=4), group="shard-0")
GOING = pod("going", deleted=ago(minutes=9), labels={"app": "x"})
DAEMON = pod("agent", owner=("DaemonSet", "agent"), labels={"app": "x"})
LONE = pod("lone", labels={"app": "db"})
PICTURE = picture(
    *SHARDS,
    DOWN,
    GOING,
    DAEMON,
    LONE,
    pubs=[pub(ledger={"unavailable_groups": ["shard-0"]})],
    pdbs=[
        pdb("web", current=2),
    ],
)
JUDGE = Judge(PICTURE, NOW)
FOUND = gathered(JUDGE.of(one) for one in PICTURE.objects.pods)


def test_what_holds_for_longest_comes_first() -> None:
    assert [one.name for one in FOUND] == ["pod/going", "pdb/web", "pub/llm"]


def test_a_pod_that_two_budgets_hold_is_with_both() -> None:
    names = ["shard-1-0", "shard-1-1", "shard-2-0", "shard-2-1"]
    assert [sorted(one.pods) for one in FOUND] == [["going"], names, names]


def test_the_lines_say_whom_they_hold_and_until_when() -> None:
    assert holder_lines(FOUND, NOW) == [
        "  pod/going   it is being deleted                                waits for 9m",
        "    It is gone when its containers have ended.",
        "  pdb/web   2 of 4 pods are available, the budget requires 3     waits for 4m",
        "    holds 4 pods: shard-1-0, shard-1-1, shard-2-0, shard-2-1",
        "    shard-0-0 is down for 4m: Pending, Unschedulable: 0/3 nodes have 8 nvidia.com/gpu",
        "    They may go when 2 more pods are ready.",
        "  pub/llm   3 of 4 groups are available, the budget requires 3   waits for 4m",
        "    holds 4 pods: shard-1-0, shard-1-1, shard-2-0, shard-2-1",
        (
            "    shard-0 is down for 4m: shard-0-0 Pending, "
            "Unschedulable: 0/3 nodes have 8 nvidia.com/gpu; 1 pod does not exist"
        ),
        "    They may go when shard-0 is ready again.",
    ]


def test_one_pod_is_it_and_what_never_goes_says_so() -> None:
    found = picture(pod("a"), pdbs=[pdb(desired=4)])
    lines = holder_lines(gathered([Judge(found, NOW).of(found.objects.pods[0])]), NOW)
    until = "pdb/llm-pods is changed, or its workload is scaled up"
    assert lines[-1] == f"    It does not go until {until}."
    assert lines[0].endswith("   never")


def test_with_namespaces_they_are_named() -> None:
    assert holder_lines(FOUND[:1], NOW, namespaces=True)[0].startswith("  llm pod/going   ")


def test_a_document_has_its_pods() -> None:
    document = holder_document(FOUND[2])
    assert document["pods"] == ["shard-1-0", "shard-1-1", "shard-2-0", "shard-2-1"]
    assert (document["verdict"], document["reason"]) == ("waits", "BudgetExhausted")
    assert document["since"] == ago(minutes=4)
