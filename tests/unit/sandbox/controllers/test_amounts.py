"""Integers and percentages."""

import pytest

from intact.sandbox.controllers.amounts import rounded_down, rounded_up


@pytest.mark.parametrize(
    ("amount", "total", "down", "up"),
    [(3, 10, 3, 3), ("25%", 10, 2, 3), ("25%", 4, 1, 1), ("0%", 7, 0, 0), ("100%", 7, 7, 7)],
)
def test_percentages_are_of_a_total(amount: int | str, total: int, down: int, up: int) -> None:
    assert rounded_down(amount, total) == down
    assert rounded_up(amount, total) == up
