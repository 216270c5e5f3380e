"""Quantities of resources, as Kubernetes writes them: `500m`, `1.5Gi`, `2e3`."""

import re
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([a-zA-Z]{0,2}|[eE][+-]?\d+)")
_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024 ** (power + 1)) for power, suffix in enumerate("KMGTPE")},
}


@lru_cache(maxsize=4096)
def _exact(text: str) -> Fraction:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, suffix = found.groups()
    scale = _SUFFIXES.get(suffix)
    if scale is None:
        if suffix[:1] not in ("e", "E") or len(suffix) == 1:
            raise ValueError(f"{text!r} is not a quantity")
        scale = Fraction(10) ** int(suffix[1:])
    return Fraction(number) * scale


def amount(resource: str, quantity: object) -> int:
    """Of cpu in thousandths, of all else in whole units; what is smaller is rounded up."""
    exact = _exact(str(quantity))
    if resource == "cpu":
        exact *= 1000
    return -(-exact.numerator // exact.denominator)
