"""How lists of built-in kinds merge in server-side apply."""

import pytest

from intact.sandbox.api.writing.schema import apply_keys

KEYS: dict[str, tuple[str, list[object], tuple[str, ...] | None]] = {
    "containers": ("containers", [], ("name",)),
    "ports of a container": (
        "ports",
        [{"containerPort": 80}],
        ("containerPort", "protocol"),
    ),
    "ports of a service": ("ports", [{"port": 80}], ("port", "protocol")),
    "spread constraints": (
        "topologySpreadConstraints",
        [],
        ("topologyKey", "whenUnsatisfiable"),
    ),
    "a list that is replaced as a whole": ("taints", [], None),
    "a list without a key": ("args", ["x"], None),
}


@pytest.mark.parametrize("name", KEYS)
def test_the_keys_of_a_list(name: str) -> None:
    field, items, keys = KEYS[name]
    assert apply_keys(field, items) == keys
