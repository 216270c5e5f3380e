"""Pods in a list, with whether they may go."""

from intact.cli.get.listing import shown
from intact.cli.get.pods import HEADS, rows
from tests.support.pictures import NOW, group, picture, pod, pub


def test_the_list() -> None:
    pods = [*group("s", size=2), pod("lone", ready=False, node="", labels={"app": "x"})]
    found = rows(picture(*pods, pubs=[pub()]), NOW)
    assert shown(HEADS, found, "wide", namespaces=True, single=False) == [
        "NAMESPACE  NAME  GROUP  BUDGETS  READY  NODE    MAY GO  REASON           WHEN",
        "llm        lone  -      -        False  -       may go  NoBudget         -",
        (
            "llm        s-0   s      pub/llm  True   node-0  waits   BudgetExhausted  "
            "It may go when 1 more group is ready."
        ),
        (
            "llm        s-1   s      pub/llm  True   node-0  waits   BudgetExhausted  "
            "It may go when 1 more group is ready."
        ),
    ]


def test_a_document_is_that_of_why() -> None:
    [row] = rows(picture(pod("a")), NOW)
    assert (row.document["kind"], row.document["verdict"]) == ("pod", "may go")
    assert row.names == ("pod/a", "a")
