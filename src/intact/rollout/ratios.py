"""Ratios: percentages of a role's replicas, as exact fractions. No float anywhere.

| rule | of 7 replicas, 10 % | rounds |
|---|---|---|
| maxUnavailableRatio | 0 | down: never over the ratio |
| partition | 1 | up: never fewer stay old |
| maxSkew | 7/10 | not at all: compared as a fraction |
"""

import re
from fractions import Fraction

_PERCENT = re.compile(r"(100|[1-9]?[0-9])%")
USUAL_UNAVAILABLE = Fraction(1, 4)
"""Of a role's replicas, where no maxUnavailableRatio is given: as of a Deployment."""


def check_ratio(text: object) -> str | None:
    """What is wrong with it, or None."""
    if text == "0" or (isinstance(text, str) and _PERCENT.fullmatch(text)):
        return None
    return f"{text!r} is not a percentage from 0% to 100%"


def parse(text: str) -> Fraction:
    """Raises ValueError if it is malformed."""
    if problem := check_ratio(text):
        raise ValueError(problem)
    return Fraction(int(text.removesuffix("%")), 100)


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
