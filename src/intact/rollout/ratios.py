"""Ratios: percentages of a role's replicas, as exact fractions. No floats.

| rule | of 7 replicas, 10 % | rounds |
|---|---|---|
| maxUnavailableRatio | 0 | down: never over the ratio |
| partition | 1 | up: never fewer stay old |
| maxSkew | 7/10 | not at all: compared as a fraction |
"""

from fractions import Fraction

from intact.model.amounts import IntOrPercent, check_amount, divide_up

USUAL_UNAVAILABLE = Fraction(1, 4)
"""Of a role's replicas, without a maxUnavailableRatio: the default of a Deployment."""

GRAMMAR = "must be a percentage from 0% to 100%, or 0"
"""Another plain number would leave open which replicas it counts."""


def is_ratio(amount: object) -> bool:
    text = str(amount)
    return text == "0" or check_amount(text) is None


def parse(amount: IntOrPercent) -> Fraction:
    """Raises ValueError if it is malformed."""
    if not is_ratio(amount):
        raise ValueError(f"{amount!r} {GRAMMAR}")
    return Fraction(int(str(amount).removesuffix("%")), 100)


def most_unavailable(ratio: Fraction | None, replicas: int) -> int:
    """How many of a role's replicas may be unavailable at once. Without a ratio, at least one."""
    if ratio is None:
        return max(1, floor(USUAL_UNAVAILABLE * replicas))
    return floor(ratio * replicas)


def staying_old(partition: Fraction, replicas: int) -> int:
    """How many of a role's replicas stay old: those with the lowest ordinals."""
    return ceil(partition * replicas)


def floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def ceil(value: Fraction) -> int:
    return divide_up(value.numerator, value.denominator)
