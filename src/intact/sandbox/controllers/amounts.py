"""Amounts of controllers: an integer or a percentage of a total, rounded as the caller says."""

from intact.model.amounts import divide_up


def rounded_up(amount: int | str, total: int) -> int:
    return amount if isinstance(amount, int) else divide_up(_percent(amount) * total, 100)


def rounded_down(amount: int | str, total: int) -> int:
    return amount if isinstance(amount, int) else _percent(amount) * total // 100


def _percent(amount: str) -> int:
    return int(amount.removesuffix("%"))
