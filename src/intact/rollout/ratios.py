"""Ratios: percentages of a role's replicas, as exact fractions. No float anywhere.

| rule | of 7 replicas, 10 % | rounds |
|---|---|---|
| maxUnavailableRatio | 0 | down: never over the ratio |
| partition | 1 | up: never fewer stay old |
| maxSkew | 7/10 | not at all: compared as a fraction |
"""

import re
from fractions import Fraction

from intact.model.amounts import IntOrPercent

_RATIO = re.compile(r"0|(100|[1-9]?[0-9])%")
USUAL_UNAVAILABLE = Fraction(1, 4)
"""Of a role's replicas, where no maxUnavailableRatio is given: as of a Deployment."""


GRAMMAR = "must be a percentage from 0% to 100%, or 0"
"""Of no other number it is plain what it is a number of."""


def is_ratio(amount: object) -> bool:
    return _RATIO.fullmatch(str(amount)) is not None


def parse(amount: IntOrPercent) -> Fraction:
    """Raises ValueError if it is malformed."""
    if not is_ratio(amount):
        raise ValueError(f"{amount!r} {GRAMMAR}")
    return Fraction(int(str(amount).removesuffix("%")), 100)


def most_unavailable(ratio: Fraction | None, replicas: int) -> int:
    """How many of a role's replicas may be unavailable at a time. Without a ratio, at least one."""
    if ratio is None:
        return max(1, floor(USUAL_UNAVAILABLE * replicas))
    return floor(ratio * replicas)


def staying_old(partition: Fraction, replicas: int) -> int:
    """How many of a role's replicas stay as they are: those with the lowest ordinals."""
    return -floor(-partition * replicas)


def floor(value: Fraction) -> int:
    return value.numerator // value.denominator
