"""Quantities as Kubernetes writes them."""

import pytest

from intact.sandbox.scheduler.quantities import amount


@pytest.mark.parametrize(
    ("resource", "quantity", "expected"),
    [
        ("cpu", "1", 1000),
        ("cpu", "250m", 250),
        ("cpu", "0.5", 500),
        ("cpu", 2, 2000),
        ("cpu", "1u", 1),
        ("cpu", "1k", 1_000_000),
        ("memory", "1Gi", 1 << 30),
        ("memory", "1.5Ki", 1536),
        ("memory", "128M", 128_000_000),
        ("memory", "1e3", 1000),
        ("memory", "2E3", 2000),
        ("memory", "1E", 10**18),
        ("memory", "100m", 1),
        ("nvidia.com/gpu", "8", 8),
        ("pods", "110", 110),
    ],
)
def test_an_amount(resource: str, quantity: object, expected: int) -> None:
    assert amount(resource, quantity) == expected


@pytest.mark.parametrize("text", ["", "one", "1x", "1e", "--1", "1 Gi"])
def test_what_is_not_a_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        amount("memory", text)
