"""Label and field selectors, in the grammar of the query parameters and of LabelSelector."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from intact.sandbox.api.failures import Failure, bad_request
from intact.sandbox.api.kinds import Kind
from intact.sandbox.api.objects import Json, lookup

LabelTest = Callable[[Mapping[str, str]], bool]

_SET_TERM = re.compile(r"^(?P<key>[^\s!=,()<>]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL_TERM = re.compile(r"^(?P<key>[^\s!=,()<>]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s!=,()]*)$")
_ORDER_TERM = re.compile(r"^(?P<key>[^\s!=,()<>]+)\s*(?P<op>[<>])\s*(?P<value>-?\d+)$")
_EXISTS_TERM = re.compile(r"^(?P<no>!?)\s*(?P<key>[^\s!=,()<>]+)$")
_KEY = re.compile(r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")


@dataclass(frozen=True, slots=True)
class _Requirement:
    key: str
    op: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        match self.op:
            case "in":
                return labels.get(self.key) in self.values and self.key in labels
            case "notin":
                return self.key not in labels or labels[self.key] not in self.values
            case "exists":
                return self.key in labels
            case ">" | "<":
                return self._compares(labels.get(self.key, ""))
            case _:
                return self.key not in labels

    def _compares(self, text: str) -> bool:
        if not re.fullmatch(r"-?\d+", text):
            return False
        number, limit = int(text), int(self.values[0])
        return number > limit if self.op == ">" else number < limit


def parse_labels(text: str) -> LabelTest:
    """A test for the `labelSelector` of a query."""
    terms = (
        [term.strip() for term in _COMMA_OUTSIDE_PARENTHESES.split(text)] if text.strip() else []
    )
    return _all_of([_label_term(term, text) for term in terms])


def _all_of(requirements: list[_Requirement]) -> LabelTest:
    return lambda labels: all(requirement.holds(labels) for requirement in requirements)


def _label_term(term: str, whole: str) -> _Requirement:
    if found := _SET_TERM.match(term):
        values = tuple(value.strip() for value in found["values"].split(","))
        requirement = _Requirement(found["key"], found["op"], values)
    elif found := _EQUAL_TERM.match(term):
        op = "notin" if found["op"] == "!=" else "in"
        requirement = _Requirement(found["key"], op, (found["value"],))
    elif found := _ORDER_TERM.match(term):
        requirement = _Requirement(found["key"], found["op"], (found["value"],))
    elif found := _EXISTS_TERM.match(term):
        requirement = _Requirement(found["key"], "not exists" if found["no"] else "exists")
    else:
        raise _unparsable(whole)
    if not _KEY.match(requirement.key):
        raise _unparsable(whole)
    return requirement


def _unparsable(text: str) -> Failure:
    return bad_request(f'unable to parse requirement: "{text}" is not a label selector')


def label_selector(selector: Json | None) -> LabelTest:
    """A test for a LabelSelector object: none selects nothing, an empty one everything.

    Raises ValueError if it is malformed.
    """
    if selector is None:
        return lambda _labels: False
    requirements = [
        _Requirement(key, "in", (value,))
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    ops = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "not exists"}
    for expression in selector.get("matchExpressions") or ():
        op = ops.get(expression.get("operator", ""))
        values = tuple(expression.get("values") or ())
        if op is None or (op in ("in", "notin")) != bool(values):
            raise ValueError(f"{expression} is not a label selector requirement")
        requirements.append(_Requirement(expression["key"], op, values))
    return _all_of(requirements)


def selector_text(selector: Any) -> str:
    """A LabelSelector (or a plain map of labels) as a query would write it."""
    if not isinstance(selector, dict):
        return str(selector or "")
    expressions = selector.get("matchExpressions") or ()
    labels = selector.get("matchLabels") or ({} if "matchExpressions" in selector else selector)
    terms = {key: f"{key}={value}" for key, value in labels.items() if isinstance(value, str)}
    for expression in expressions:
        key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
        terms[key] = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
        }.get(expression["operator"], f"!{key}")
    return ",".join(terms[key] for key in sorted(terms))


@dataclass(frozen=True, slots=True)
class Selection:
    """The label and field selector of one request, together."""

    labels: LabelTest | None = None
    fields: tuple[tuple[str, bool, str], ...] = field(default=())
    """Path, whether it must be equal, value."""

    @property
    def everything(self) -> bool:
        return self.labels is None and not self.fields

    def holds(self, obj: Json) -> bool:
        if self.labels is not None and not self.labels(obj["metadata"].get("labels") or {}):
            return False
        return all((_field_text(obj, path) == value) is equal for path, equal, value in self.fields)


def _field_text(obj: Json, path: str) -> str:
    value = lookup(obj, path)
    if value is None:
        return "false" if path in ("spec.unschedulable", "spec.hostNetwork") else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def selection(kind: Kind, query: Mapping[str, str]) -> Selection:
    """What a list, watch or deletecollection asks for."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    return Selection(parse_labels(labels) if labels else None, _parse_fields(kind, fields))


def _parse_fields(kind: Kind, text: str) -> tuple[tuple[str, bool, str], ...]:
    found = []
    for term in filter(None, text.split(",")):
        path, op, value = re.match(r"^([^!=]*)(==|!=|=|)(.*)$", term).groups()  # type: ignore[union-attr]
        if not op:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        if path not in ("metadata.name", "metadata.namespace", *kind.selectable_fields):
            raise bad_request(_unknown_field(kind, path))
        found.append((path, op != "!=", value))
    return tuple(found)


def _unknown_field(kind: Kind, path: str) -> str:
    if kind.custom or kind.selectable_fields:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
