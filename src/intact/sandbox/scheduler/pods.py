"""A pod as the scheduler sees it: parsed once, then only asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import msgspec

from intact.budget.selectors import Selector
from intact.model.meta import LabelSelector
from intact.sandbox.api.objects import Json, encode
from intact.sandbox.controllers.owned import controller_of
from intact.sandbox.scheduler.requests import LEAST, Resources, pod_requests

Port = tuple[str, str, int]
"""Protocol, address and number."""
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - compared, not bound
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@lru_cache(maxsize=8192)
def parsed(text: bytes) -> Selector:
    """The selector that a LabelSelector in JSON means."""
    return Selector(msgspec.json.decode(text, type=LabelSelector))


@dataclass(frozen=True, slots=True)
class Chosen:
    """Pods that a LabelSelector selects. Equal selectors are equal."""

    text: bytes
    """The LabelSelector as JSON; empty if there is none, which selects nothing."""

    def selector(self) -> Selector | None:
        return parsed(self.text) if self.text else None

    @staticmethod
    def all_of(several: "Sequence[Chosen]") -> "Chosen":
        """Pods that all of them select."""
        expressions: list[Json] = []
        for each in several:
            if not each.text:
                return each
            selector = msgspec.json.decode(each.text)
            expressions += [
                {"key": key, "operator": "In", "values": [value]}
                for key, value in (selector.get("matchLabels") or {}).items()
            ]
            expressions += selector.get("matchExpressions") or ()
        return Chosen(encode({"matchExpressions": expressions}))

    @property
    def is_everything(self) -> bool:
        selector = self.selector()
        return selector is not None and not selector.requirements


def chosen(selector: Json | None, more: Mapping[str, str] | None = None) -> Chosen:
    """`more` are labels that are required besides."""
    if selector is None:
        return Chosen(b"")
    if more:
        expressions = [
            {"key": key, "operator": "In", "values": [value]} for key, value in more.items()
        ]
        expressions += selector.get("matchExpressions") or ()
        selector = {**selector, "matchExpressions": expressions}
    return Chosen(encode(selector))


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a pod affinity or anti-affinity."""

    namespaces: tuple[str, ...]
    namespace_selector: bytes
    """As JSON; empty if there is none."""
    pods: Chosen
    topology_key: str


@dataclass(frozen=True, slots=True)
class Affinity:
    """Pod affinity and anti-affinity."""

    attracted: tuple[Term, ...] = ()
    repelled: tuple[Term, ...] = ()
    preferred: tuple[tuple[Term, int], ...] = ()
    """With weights; those of anti-affinity are negative."""


NO_AFFINITY = Affinity()


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint."""

    topology_key: str
    max_skew: int
    pods: Chosen
    least_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    uid: str
    namespace: str
    name: str
    labels: dict[str, str]
    spec: Json
    is_terminating: bool
    requests: Resources
    counted: tuple[int, int]
    """Milli-CPUs and bytes that scores count."""
    ports: tuple[Port, ...]
    affinity: Affinity
    owner: Json | None
    """The reference to its controller."""
    since: str
    """When it started; empty if it has not."""

    @property
    def priority(self) -> int:
        return int(self.spec.get("priority") or 0)

    def spreads(self, action: Literal["DoNotSchedule", "ScheduleAnyway"]) -> list[Spread]:
        return [
            _spread(each, self.labels)
            for each in self.spec.get("topologySpreadConstraints") or ()
            if each["whenUnsatisfiable"] == action
        ]


def pod_info(pod: Json) -> PodInfo:
    meta, spec = pod["metadata"], pod["spec"]
    labels = meta.get("labels") or {}
    counted = pod_requests(pod, LEAST)
    return PodInfo(
        meta["uid"],
        meta["namespace"],
        meta["name"],
        labels,
        spec,
        "deletionTimestamp" in meta,
        pod_requests(pod),
        (counted.get("cpu", 0), counted.get("memory", 0)),
        tuple(_ports(spec)),
        _affinity(spec, meta["namespace"], labels),
        controller_of(pod),
        (pod.get("status") or {}).get("startTime") or "",
    )


def _ports(spec: Json) -> Iterable[Port]:
    for container in (*(spec.get("containers") or ()), *_sidecars(spec)):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (
                port.get("containerPort") if spec.get("hostNetwork") else 0
            )
            if number:
                yield port.get("protocol") or "TCP", port.get("hostIP") or ANY_ADDRESS, number


def _sidecars(spec: Json) -> Iterable[Json]:
    return (
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    )


def _affinity(spec: Json, namespace: str, labels: Mapping[str, str]) -> Affinity:
    found = spec.get("affinity")
    if not found:
        return NO_AFFINITY
    attracted, repelled = found.get("podAffinity") or {}, found.get("podAntiAffinity") or {}
    if not attracted and not repelled:
        return NO_AFFINITY

    def terms(each: Json) -> tuple[Term, ...]:
        return tuple(_term(term, namespace, labels) for term in each.get(_REQUIRED) or ())

    def weighted(each: Json, sign: int) -> list[tuple[Term, int]]:
        return [
            (_term(term["podAffinityTerm"], namespace, labels), sign * term["weight"])
            for term in each.get(_PREFERRED) or ()
        ]

    return Affinity(
        terms(attracted),
        terms(repelled),
        tuple(weighted(attracted, 1) + weighted(repelled, -1)),
    )


def _term(term: Json, namespace: str, labels: Mapping[str, str]) -> Term:
    selector = term.get("labelSelector")
    if selector is not None:
        # The API server of 1.33+ merges these keys into the selector itself.
        selector = dict(selector)
        more = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(name) or ()
            if key in labels
        ]
        known = list(selector.get("matchExpressions") or ())
        selector["matchExpressions"] = known + [each for each in more if each not in known]
    namespaces = tuple(sorted(term.get("namespaces") or ()))
    namespace_selector = term.get("namespaceSelector")
    if not namespaces and namespace_selector is None:
        namespaces = (namespace,)
    return Term(
        namespaces,
        encode(namespace_selector) if namespace_selector is not None else b"",
        chosen(selector),
        term["topologyKey"],
    )


def _spread(constraint: Json, labels: Mapping[str, str]) -> Spread:
    keys = constraint.get("matchLabelKeys") or ()
    more = {key: labels[key] for key in keys if key in labels}
    return Spread(
        constraint["topologyKey"],
        constraint["maxSkew"],
        chosen(constraint.get("labelSelector"), more),
        constraint.get("minDomains") or 1,
        (constraint.get("nodeAffinityPolicy") or "Honor") == "Honor",
        constraint.get("nodeTaintsPolicy") == "Honor",
    )
