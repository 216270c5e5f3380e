"""The shards of the demo."""

from intact.sandbox.scene.shards import GROUP_KEY, LABELS, PODS_EACH, SHARDS, stateful_set


def test_a_shard_is_a_stateful_set_with_pods_on_all_nodes() -> None:
    for shard in SHARDS:
        found = stateful_set(shard, lambda template: {**template, "slow": True})
        assert found["spec"]["replicas"] == PODS_EACH
        template = found["spec"]["template"]
        assert template["metadata"]["labels"] == {**LABELS, GROUP_KEY: shard}
        assert template["slow"]
        [spread] = template["spec"]["topologySpreadConstraints"]
        assert spread["topologyKey"] == "kubernetes.io/hostname"
