"""Amounts: an integer or a percentage of a total. Percentages round up, as everywhere in
Kubernetes' budgets: in minAvailable in favour of protection, in maxUnavailable of disruption."""

import re

IntOrPercent = int | str
MOST_REPLICAS = 2**31 - 1
"""The largest number that the API takes for replicas."""
_MOST_DIGITS = len(str(MOST_REPLICAS))
_PERCENT = re.compile(r"(100|[1-9]?[0-9])%")


def check_amount(amount: int | str) -> str | None:
    """What is wrong with an amount, or None."""
    if isinstance(amount, bool) or not isinstance(amount, int | str):
        return f"{amount!r} is neither an integer nor a percentage"
    if isinstance(amount, int):
        if amount > MOST_REPLICAS:
            return f"{amount} is more than {MOST_REPLICAS}"
        return None if amount >= 0 else f"{amount} is negative"
    return None if _PERCENT.fullmatch(amount) else f"{amount!r} is not a percentage from 0% to 100%"


def resolve(amount: int | str, total: int) -> int:
    """The amount as a number. Raises ValueError if it is malformed."""
    if problem := check_amount(amount):
        raise ValueError(problem)
    if isinstance(amount, int):
        return amount
    return divide_up(int(amount[:-1]) * total, 100)


def divide_up(number: int, by: int) -> int:
    return -(-number // by)


def parse_count(text: str) -> int | None:
    """A number of replicas, written in digits; None if the text is anything else."""
    digits = text.lstrip("0") or text[:1]
    if not (text.isascii() and text.isdigit()) or len(digits) > _MOST_DIGITS:
        return None
    count = int(digits)
    return count if count <= MOST_REPLICAS else None


def desired_available(
    max_unavailable: int | str | None,
    min_available: int | str | None,
    total: int,
    *,
    both: bool,
) -> int:
    """How many units of a total must stay available.

    If both amounts are given, `both` says whether both hold or maxUnavailable wins.
    """
    desired = 0
    if max_unavailable is not None:
        desired = max(0, total - resolve(max_unavailable, total))
        if not both:
            return desired
    if min_available is not None:
        desired = max(desired, resolve(min_available, total))
    return desired
