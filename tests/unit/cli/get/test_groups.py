"""Groups in a list."""

from intact.cli.get.groups import HEADS, rows
from intact.cli.get.listing import shown
from tests.support.pictures import NOW, ago, group, group_pdb, picture, pub

PODS = [*group("shard-1"), *group("shard-0", ready=False, since=ago(minutes=4))]


def test_the_list() -> None:
    lost = group_pdb(ledger={"absent": {"shard-9": ago(minutes=1)}})
    found = rows(picture(*PODS, pubs=[pub()], pdbs=[lost]), NOW)
    assert shown(HEADS, found, "wide", namespaces=False, single=False) == [
        "NAME     BUDGET                  READY  NEED  STATE      SINCE  NODES   PODS",
        (
            "shard-0  pub/llm,pdb/llm-groups  0/2    2     down       4m     node-0  "
            "shard-0-0,shard-0-1"
        ),
        (
            "shard-1  pub/llm,pdb/llm-groups  2/2    2     available  -      node-0  "
            "shard-1-0,shard-1-1"
        ),
        "shard-9  pdb/llm-groups          0/0    1     absent     60s    -       -",
    ]


def test_a_group_has_the_labels_of_its_pods() -> None:
    row = rows(picture(*PODS, pubs=[pub()]), NOW)[0]
    assert row.names == ("group/shard-0", "shard-0")
    assert [one["shard"] for one in row.labels] == ["shard-0", "shard-0"]
    assert row.document["budgets"] == ["pub/llm"]
