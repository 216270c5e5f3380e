"""`intact why rbg/NAME`: how far it is, and what holds its pods."""

from intact.cli.why.rbg import about_rbg
from tests.support.pictures import NOW, group, pdb, picture, pod
from tests.unit.cli.rbg.seen import seen

LABEL = {"rolebasedgroup.workloads.x-k8s.io/name": "llm"}
GROUP = seen()


def test_the_tree_is_followed_by_what_holds_its_pods() -> None:
    found = picture(*group("shard-1", labels=LABEL), pod("other"), pdbs=[pdb()])
    answer = about_rbg(found, GROUP, {}, NOW)
    lines = list(answer.lines)
    assert lines[0].startswith("ns/llm: done, ready 4/4")
    assert lines[-3:] == [
        "  pdb/llm-pods   3 of 4 pods are available, the budget requires 3   waits",
        "    holds 2 pods: shard-1-0, shard-1-1",
        "    They may go when 1 more pod is ready.",
    ]
    assert answer.exit_code == 3
    assert answer.document["standing"] == "Done"
    assert [one["name"] for one in answer.document["holders"]] == ["pdb/llm-pods"]


def test_pods_that_nothing_holds() -> None:
    answer = about_rbg(picture(*group("shard-1", labels=LABEL)), GROUP, {}, NOW)
    assert list(answer.lines)[-2:] == [
        "  no budget covers its pods",
        "Each of its pods may go now.",
    ]
    assert answer.exit_code == 0


def test_without_pods() -> None:
    assert list(about_rbg(picture(), GROUP, {}, NOW).lines)[-1] == "It has no pods."
