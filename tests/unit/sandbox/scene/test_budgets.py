"""The budgets of the demo."""

import pytest

from intact.sandbox.scene.budgets import PDB, PUB
from intact.sandbox.scene.shards import SHARDS, Json, stateful_set


@pytest.mark.parametrize("budget", [PUB, PDB], ids=["pub", "pdb"])
def test_they_take_all_shards_and_let_one_go(budget: Json) -> None:
    wanted = budget["spec"]["selector"]["matchLabels"]
    for shard in SHARDS:
        labels = stateful_set(shard, lambda template: template)["spec"]["template"]["metadata"]
        assert wanted.items() <= labels["labels"].items()
    assert budget["spec"]["maxUnavailable"] == 1
