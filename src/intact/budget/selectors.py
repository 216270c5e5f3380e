"""Label selectors: which labels they select, and whether two of them overlap.

Two selectors overlap if they have the same keys and can meet on each of them, or if one selects
only what the other selects as well. Otherwise they count as separate: `app=web` and `backend=true`
may meet on a pod or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from intact.model.meta import LabelSelector


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a selector requires of one label. `values` are the allowed ones (or, with `negated`, the
    forbidden ones); None stands for any. `absent` says whether the label may be missing."""

    values: frozenset[str] | None
    negated: bool = False
    absent: bool = False
    present: bool = True
    """Whether the label may be there at all."""

    def selects(self, value: str | None) -> bool:
        if value is None:
            return self.absent
        if not self.present:
            return False
        if self.values is None:
            return True
        return (value in self.values) != self.negated

    def and_(self, other: "Requirement") -> "Requirement":
        """The requirement that holds where both hold."""
        present = self.present and other.present
        values, negated = self.values, self.negated
        if values is None or (negated and other.values is not None and not other.negated):
            values, negated = other.values, other.negated
            rest = self
        else:
            rest = other
        if values is not None and rest.values is not None:
            if negated and rest.negated:
                values = values | rest.values
            elif not negated:
                values = frozenset(value for value in values if rest.selects(value))
        return Requirement(values, negated, self.absent and other.absent, present)

    def meets(self, other: "Requirement") -> bool:
        """Whether some label, or its absence, satisfies both."""
        both = self.and_(other)
        if both.absent:
            return True
        return both.present and (both.values is None or both.negated or bool(both.values))

    def within(self, other: "Requirement") -> bool:
        """Whether every label that satisfies this satisfies the other as well."""
        if self.absent and not other.absent:
            return False
        if not self.present:
            return True
        if not other.present:
            return self.values is not None and not self.negated and not self.values
        if other.values is None:
            return True
        if self.values is None:
            return other.negated and not other.values
        if self.negated:
            return other.negated and other.values <= self.values
        return all(other.selects(value) for value in self.values)


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def check_selector(selector: LabelSelector) -> list[tuple[str, str]]:
    """What is wrong with it: (path below the selector, message)."""
    problems = []
    for index, expression in enumerate(selector.match_expressions):
        path = f"matchExpressions[{index}]"
        if expression.operator not in _OPERATORS:
            problems.append(
                (
                    f"{path}.operator",
                    f"{expression.operator!r} is not one of {', '.join(_OPERATORS)}",
                )
            )
        elif expression.operator in ("In", "NotIn") and not expression.values:
            problems.append((f"{path}.values", f"{expression.operator} needs at least one value"))
        elif expression.operator in ("Exists", "DoesNotExist") and expression.values:
            problems.append((f"{path}.values", f"{expression.operator} takes no values"))
    return problems


class Selector:
    """A LabelSelector, ready to be asked. An empty one selects everything."""

    __slots__ = ("requirements",)

    def __init__(self, selector: LabelSelector) -> None:
        self.requirements: dict[str, Requirement] = {}
        for key, value in selector.match_labels.items():
            self._add(key, Requirement(frozenset((value,))))
        for expression in selector.match_expressions:
            self._add(expression.key, _requirement(expression.operator, expression.values))

    def _add(self, key: str, requirement: Requirement) -> None:
        known = self.requirements.get(key)
        self.requirements[key] = known.and_(requirement) if known else requirement

    def selects(self, labels: Mapping[str, str]) -> bool:
        return all(
            requirement.selects(labels.get(key)) for key, requirement in self.requirements.items()
        )

    def anchor(self) -> tuple[str, frozenset[str]] | None:
        """A label key and its few values, one of which every selected pod has; an index can file
        the selector under them. None if there is no such key."""
        best: tuple[str, frozenset[str]] | None = None
        for key, requirement in self.requirements.items():
            values = requirement.values
            if values is None or requirement.negated or requirement.absent:
                continue
            if best is None or len(values) < len(best[1]):
                best = (key, values)
        return best

    def asks_only_anchor(self) -> bool:
        """Whether it selects all labels that have its anchor."""
        return (
            len(self.requirements) == 1
            and self.anchor() is not None
            and all(requirement.present for requirement in self.requirements.values())
        )

    def overlaps(self, other: "Selector") -> bool:
        """Whether the two overlap, as far as that can be shown."""
        if self.requirements.keys() == other.requirements.keys():
            return all(
                requirement.meets(other.requirements[key])
                for key, requirement in self.requirements.items()
            )
        return self.within(other) or other.within(self)

    def within(self, other: "Selector") -> bool:
        """Whether this selects only what the other selects as well."""
        return all(
            key in self.requirements and self.requirements[key].within(requirement)
            for key, requirement in other.requirements.items()
        )


def _requirement(operator: str, values: list[str]) -> Requirement:
    match operator:
        case "In":
            return Requirement(frozenset(values))
        case "NotIn":
            return Requirement(frozenset(values), negated=True, absent=True)
        case "Exists":
            return Requirement(None)
        case "DoesNotExist":
            return Requirement(None, absent=True, present=False)
    raise ValueError(f"unknown operator {operator!r}")
