"""Label selectors as kubectl takes them: `env=prod,tier!=test,zone in (a, b),!old`."""

import re

from intact.model.meta import LabelSelector, LabelSelectorRequirement

_PART = re.compile(r"(?:[^,(]|\([^)]*\))+")
_SET = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s+\((?P<values>[^)]*)\)")
_EQUAL = re.compile(r"(?P<key>[^!=\s]+)\s*(?P<operator>==?|!=)\s*(?P<value>\S*)")
_EXISTS = re.compile(r"(?P<no>!?)\s*(?P<key>[^!=\s()]+)")


def parse_selector(text: str) -> LabelSelector:
    """Nothing selects everything. Raises ValueError, with the part that cannot be read."""
    parts = [part.strip() for part in _PART.findall(text)]
    return LabelSelector(match_expressions=[_requirement(part) for part in parts if part])


def _requirement(part: str) -> LabelSelectorRequirement:
    if found := _SET.fullmatch(part):
        operator = "In" if found["operator"] == "in" else "NotIn"
        values = [value.strip() for value in found["values"].split(",")]
        return LabelSelectorRequirement(key=found["key"], operator=operator, values=values)
    if found := _EQUAL.fullmatch(part):
        operator = "NotIn" if found["operator"] == "!=" else "In"
        return LabelSelectorRequirement(
            key=found["key"], operator=operator, values=[found["value"]]
        )
    if found := _EXISTS.fullmatch(part):
        operator = "DoesNotExist" if found["no"] else "Exists"
        return LabelSelectorRequirement(key=found["key"], operator=operator)
    raise ValueError(f"{part!r} is not a requirement like env=prod, env!=test, env or !env")
