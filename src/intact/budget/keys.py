"""The keys of labels and annotations that mean something to Intact, and where each belongs.

Kubernetes stores any key. One that is misspelt, or on the wrong kind of object, changes nothing and
says nothing: the budget then protects in another way than its author believes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

PUB = "PodUnavailableBudget"
PDB = "PodDisruptionBudget"
LABEL, ANNOTATION = "label", "annotation"


@dataclass(frozen=True, slots=True)
class Use:
    kinds: tuple[str, ...]
    place: str = ANNOTATION
    """LABEL or ANNOTATION."""

    def __str__(self) -> str:
        article = "an" if self.place == ANNOTATION else "a"
        return f"{article} {self.place} of {' and '.join(f'{kind}s' for kind in self.kinds)}"


KEYS: Mapping[str, Use] = {
    "intact.dev/agreed-replicas": Use(("RoleBasedGroup",)),
    "intact.dev/aggregate-to-owners": Use(("ClusterRole",), LABEL),
    "intact.dev/awaited": Use(("Pod",), LABEL),
    "intact.dev/batch-size": Use(("Pod",)),
    "intact.dev/budget-scope": Use((PDB,), LABEL),
    "intact.dev/door": Use(("Namespace",), LABEL),
    "intact.dev/drain-deadline": Use(("Node",)),
    "intact.dev/enforcement": Use((PUB, PDB)),
    "intact.dev/expected-replicas": Use((PDB,)),
    "intact.dev/follows": Use(("Pod",)),
    "intact.dev/gated": Use(("Namespace",), LABEL),
    "intact.dev/group-label-key": Use((PDB,)),
    "intact.dev/ledger": Use((PDB,)),
    "intact.dev/min-ready-replicas": Use((PDB,)),
    "intact.dev/node-deadlines": Use((PUB,)),
    "intact.dev/pinned": Use(("Eviction",)),
    "intact.dev/replicas": Use((PDB,)),
    "intact.dev/template-digest": Use(("PodTemplate",)),
    "intact.dev/unhealthy-policy": Use((PUB,)),
    "kruise.io/pub-protect-operations": Use((PUB,)),
    "pub.kruise.io/no-protect": Use(("Pod",)),
    "pub.kruise.io/protect-total-replicas": Use((PUB,)),
}
_OURS = ("intact.dev/", "pub.kruise.io/", "kruise.io/pub-")
"""Nobody else puts keys with these beginnings on a budget."""
_MOST = 500
"""Keys of one object that are compared with those that mean something: that takes time."""
_LONGEST = 317
"""Characters of a key. No API server stores a longer one."""
_CLOSE = 0.85
"""How alike two keys are of which one is a slip for the other."""


def without_effect(
    kind: str, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> list[str]:
    """What is wrong with the keys on a budget of this kind, one sentence for each that has no
    effect. Of very many keys only the first are looked at, Intact's own before all others."""
    found = [*((LABEL, key) for key in labels), *((ANNOTATION, key) for key in annotations)]
    if len(found) > _MOST:
        found = sorted(found, key=lambda one: not one[1].startswith(_OURS))[:_MOST]
    told = (_problem(kind, place, key) for place, key in sorted(found) if len(key) <= _LONGEST)
    return [text for text in told if text]


@lru_cache(4096)
def _problem(kind: str, place: str, key: str) -> str:
    use = KEYS.get(key)
    if use is None:
        return _unknown(kind, place, key)
    if kind in use.kinds and place == use.place:
        return ""
    return f"the {place} {key} of a {kind} has no effect: it is {use}"


def _unknown(kind: str, place: str, key: str) -> str:
    here = [known for known, use in KEYS.items() if kind in use.kinds]
    meant = get_close_matches(key.lower(), here, 1, _CLOSE) or get_close_matches(
        key.lower(), KEYS, 1, _CLOSE
    )
    if not meant and not key.startswith(_OURS):
        return ""  # another product's
    hint = f"; did you mean {meant[0]}?" if meant else ""
    return f"the {place} {key} is unknown to Intact and has no effect{hint}"
