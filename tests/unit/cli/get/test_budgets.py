"""Budgets of both kinds in one list."""

from intact.cli.get.budgets import HEADS, rows
from intact.cli.get.listing import shown
from tests.support.pictures import NOW, ago, group, group_pdb, pdb, picture, pub

PODS = [*group("shard-1"), *group("shard-0", ready=False, since=ago(minutes=4))]
FOUND = picture(*PODS, pubs=[pub()], pdbs=[pdb(allowed=1), group_pdb(scope="Shard")])


def test_the_list() -> None:
    assert shown(HEADS, rows(FOUND, NOW), "", namespaces=False, single=False) == [
        "NAME            UNIT    ALLOWED  CURRENT  DESIRED  TOTAL  DOWN  WORKING  SINCE",
        "pub/llm         groups  0        3        3        4      1     True     120m",
        "pdb/llm-groups  groups  0        3        3        4      1     True     24h",
        "pdb/llm-pods    pods    1        3        3        4      1     True     24h",
    ]


def test_wide_says_what_is_down_and_what_is_wrong() -> None:
    without = picture(*PODS, pubs=[pub()], intact=False)
    [row] = rows(without, NOW)
    assert row.cells[-2] == "False"
    assert list(row.more) == [
        "shard-0",
        "Enforce",
        "Intact is not installed here: nothing holds this budget",
    ]


def test_names_and_labels() -> None:
    row = rows(picture(pdbs=[pdb(labels={"team": "a"})]), NOW)[0]
    assert row.names == (
        "poddisruptionbudget.policy/llm-pods",
        "pdb/llm-pods",
        "poddisruptionbudget/llm-pods",
        "llm-pods",
    )
    assert list(row.labels) == [{"team": "a"}]


def test_a_document() -> None:
    document = rows(FOUND, NOW)[0].document
    assert (document["kind"], document["unit"]) == ("PodUnavailableBudget", "group")
    assert document["unitsDown"] == ["shard-0"]
    assert document["since"] == ago(hours=2)
