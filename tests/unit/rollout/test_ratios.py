from fractions import Fraction

import pytest

from intact.rollout.ratios import is_ratio, most_unavailable, parse, staying_old


@pytest.mark.parametrize("text", ["0%", "1%", "99%", "100%", "0", 0])
def test_percentages_and_nothing_are_ratios(text: object) -> None:
    assert is_ratio(text)


@pytest.mark.parametrize(
    "text", ["", "%", "101%", "-1%", "1.5%", "01%", "10", "ten", "5 %", "0%%", "00", 5, -0.5, None]
)
def test_anything_else_is_no_ratio(text: object) -> None:
    assert not is_ratio(text)


def test_a_malformed_ratio_is_not_parsed() -> None:
    with pytest.raises(ValueError, match="150%"):
        parse("150%")


@pytest.mark.parametrize(
    ("ratio", "replicas", "expected"),
    [
        ("5%", 200, 10),
        ("5%", 100, 5),
        ("10%", 7, 0),
        ("29%", 100, 29),
        ("100%", 3, 3),
        ("0%", 9, 0),
    ],
)
def test_unavailability_is_never_over_the_ratio(ratio: str, replicas: int, expected: int) -> None:
    assert most_unavailable(parse(ratio), replicas) == expected


@pytest.mark.parametrize(("replicas", "expected"), [(40, 10), (7, 1), (3, 1), (1, 1)])
def test_without_a_ratio_a_quarter_and_at_least_one(replicas: int, expected: int) -> None:
    assert most_unavailable(None, replicas) == expected


@pytest.mark.parametrize(
    ("partition", "replicas", "expected"),
    [
        ("80%", 200, 160),
        ("80%", 100, 80),
        ("50%", 3, 2),
        ("1%", 1, 1),
        ("0%", 9, 0),
        ("100%", 9, 9),
    ],
)
def test_never_fewer_stay_old_than_the_partition(
    partition: str, replicas: int, expected: int
) -> None:
    assert staying_old(parse(partition), replicas) == expected


def test_ratios_are_exact() -> None:
    assert parse("29%") == Fraction(29, 100)
    assert parse(0) == parse("0") == parse("0%") == 0
