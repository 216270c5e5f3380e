"""A snapshot that can be sent to others: no name, label, annotation or image of the original.

1. A string is replaced unless it is known to say nothing: words of the Kubernetes API, quantities,
   times, UIDs and numbers stay.
2. Equal strings stay equal, so selectors, owner references, node names and groups still match.
3. Keys of labels and annotations stay where Kubernetes, LeaderWorkerSet, OpenKruise or Intact gave
   them their meaning.
"""

import re
from typing import Any

import msgspec

from intact.budget.enforcement import Enforcement
from intact.budget.pdb.scope import GROUP_SCOPES, POD_SCOPE
from intact.budget.pub.settings import UnhealthyPolicy
from intact.sandbox.snapshot.document import Json, KindInfo, Snapshot, Unreadable
from intact.sandbox.snapshot.rehashing import hashed, hashes_in, rehashed
from intact.sandbox.snapshot.words import Words

_KNOWN_DOMAINS = ("kubernetes.io", "k8s.io", "x-k8s.io", "intact.dev", "kruise.io")
_NAMES_IN_KEYS = (
    "rolebasedgroup.workloads.x-k8s.io/role-revision-hash-",
    "coordination.workloads.x-k8s.io/",
    "batch.coordination.workloads.x-k8s.io/",
    "node-role.kubernetes.io/",
    "node-restriction.kubernetes.io/",
)
"""What follows these beginnings is a name that a person chose."""
_KNOWN_VALUES = frozenset(
    {
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "default-scheduler",
        "true",
        "false",
        "control-plane",
        "kubernetes",
        "orphan",
        "foregroundDeletion",
    }
)
_LABELS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"})
"""Fields whose keys are keys of labels, and whose values are chosen by people."""
_RESOURCES = frozenset({"requests", "limits", "allocatable", "capacity", "overhead"})
_BY_NAME = frozenset({"disruptedPods", "unavailablePods", "progress", "ratios"})
"""Fields whose keys are names."""
_LABEL_KEYS = frozenset(
    {"key", "topologyKey", "groupLabelKey", "matchLabelKeys", "mismatchLabelKeys", "resourceName"}
)
_CHOSEN = frozenset({"values", "value", "name"})
_TEXT = re.compile(r"[A-Z][A-Za-z]*")
"""A word of the API: Always, RollingUpdate, NoSchedule."""
_NUMBER = re.compile(r"-?[0-9.]+%?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_API_WORDS = frozenset({*GROUP_SCOPES, POD_SCOPE, *Enforcement, *UnhealthyPolicy})
_MEANT = ("intact.dev/", "kruise.io/pub-", "pub.kruise.io/", "leaderworkerset.sigs.k8s.io/")
_LABEL_KEY_ANNOTATIONS = frozenset(
    {
        "intact.dev/group-label-key",
        "leaderworkerset.sigs.k8s.io/exclusive-topology",
        "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
    }
)
_GROUP_KIND = ("apiGroup", "kind")
_KEPT_FIELDS = frozenset({"apiVersion", "kind", "apiGroup", "$patch"})
"""The first three are replaced together, where they name a kind that is not known."""
_KNOWN_KEYS = frozenset(
    {
        *("cpu", "memory", "ephemeral-storage", "pods", "metadata.name"),
        *("pod-template-hash", "pod-template-generation", "controller-revision-hash"),
        *("controller-uid", "job-name"),
    }
)
_CONDITIONS = frozenset(
    {
        *("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"),
        *("PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers"),
        *("DisruptionTarget", "PodResizePending", "PodResizeInProgress", "DisruptionAllowed"),
        *("Available", "Progressing", "ReplicaFailure", "UpdateInProgress"),
        *("Complete", "Failed", "Suspended", "SuccessCriteriaMet", "FailureTarget"),
        *("PodGroupScheduled", "PodGroupInitiallyScheduled"),
    }
)
"""Types of conditions that Kubernetes and LeaderWorkerSet write. Others are chosen by people."""
_IMAGES = frozenset({"image", "imageID"})
_LONG_NUMBER = re.compile(r"(?<![A-Za-z0-9])\d{5,}(?![A-Za-z0-9])")
"""In the name of an image, that of an account."""
_LEDGERS = frozenset({"intact.dev/ledger"})


def anonymized(snapshot: Snapshot) -> Snapshot:
    originals = hashed(snapshot)
    words = Words(kept=hashes_in(originals))
    words.learn(msgspec.json.encode(snapshot.objects).decode())
    names = _Names(words)
    kinds = [names.kind(kind) for kind in snapshot.kinds]
    objects = {
        new.full_name: [names.object(each) for each in snapshot.of(old.full_name)]
        for old, new in zip(snapshot.kinds, kinds, strict=True)
    }
    found = Snapshot(
        time=snapshot.time,
        server_version=snapshot.server_version,
        intact=snapshot.intact,
        anonymized=True,
        unreadable=[Unreadable(names.resource(one.resource), "") for one in snapshot.unreadable],
        kinds=kinds,
        objects=objects,
    )
    rehashed(originals, found)
    return found


class _Names:
    def __init__(self, words: Words) -> None:
        self._words = words

    def kind(self, kind: KindInfo) -> KindInfo:
        if _is_known(kind.group):
            return kind
        made = [self._words.replaced(each) for each in (kind.group, kind.plural, kind.kind)]
        return KindInfo(made[0], kind.version, made[1], made[2], kind.namespaced, kind.scaled)

    def resource(self, full_name: str) -> str:
        _plural, _, group = full_name.partition(".")
        return full_name if _is_known(group) else self._words.replaced(full_name)

    def object(self, obj: Json) -> Json:
        found: Json = self._walk("", obj)
        status = found.get("status")
        if isinstance(status, dict):
            status.pop("ledger", None)  # the operator writes it anew
        return found

    def _walk(self, field: str, value: Any) -> Any:
        if isinstance(value, dict):
            return self._dict(field, value)
        if isinstance(value, list):
            return [self._walk(field, each) for each in value]
        return self._string(field, value) if isinstance(value, str) else value

    def _dict(self, field: str, value: Json) -> Json:
        if field in _LABELS:
            return {
                self._key(key): self._label(key, each)
                for key, each in value.items()
                if key not in _LEDGERS
            }
        if field in _RESOURCES:
            return {self._key(key): each for key, each in value.items()}
        if field in _BY_NAME or (field == "roles" and "name" not in value):
            return {self._name(key): self._walk("", each) for key, each in value.items()}
        found = {key: self._walk(key, each) for key, each in value.items()}
        if field == "conditions" and value.get("type") not in _CONDITIONS:
            names = (each for each in ("type", "reason") if isinstance(value.get(each), str))
            found |= {each: self._words.replaced(value[each]) for each in names}
        if "apiVersion" in value and "kind" in value:
            found |= self._type(value["apiVersion"], value["kind"])
        elif "apiGroup" in value and not _is_known(value["apiGroup"]):
            found |= {each: self._words.replaced(value.get(each, "")) for each in _GROUP_KIND}
        return found

    def _type(self, api_version: str, kind: str) -> Json:
        group, _, version = api_version.rpartition("/")
        if _is_known(group):
            return {"apiVersion": api_version, "kind": kind}
        return {
            "apiVersion": f"{self._words.replaced(group)}/{version}",
            "kind": self._words.replaced(kind),
        }

    def _string(self, field: str, value: str) -> str:
        if _NUMBER.fullmatch(value) or _TIME.fullmatch(value) or _UID.fullmatch(value):
            return value
        if field in _LABEL_KEYS:
            return self._key(value)
        if field in _KEPT_FIELDS:
            return value
        if field == "conditionType":
            return value if value in _CONDITIONS else self._words.replaced(value)
        if field in _IMAGES:
            return self._words.replaced(_LONG_NUMBER.sub(r"n\g<0>", value))
        if field == "finalizers":
            return value if value in _KNOWN_VALUES else self._key(value)
        if field not in _CHOSEN and _TEXT.fullmatch(value):
            return value
        return self._name(value)

    def _label(self, key: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if key in _LABEL_KEY_ANNOTATIONS:
            return self._key(value)
        if key.startswith(_MEANT) and (value in _API_WORDS or value.startswith("{")):
            return value
        if key == "kruise.io/pub-protect-operations":
            return value
        return self._name(value)

    def _key(self, key: str) -> str:
        for beginning in _NAMES_IN_KEYS:
            if key.startswith(beginning):
                rest = key.removeprefix(beginning)
                return beginning + self._name(rest)
        domain, slash, _name = key.partition("/")
        if slash and "." in domain and _is_known(domain):
            return key
        if key in _KNOWN_KEYS or key.startswith("hugepages-"):
            return key
        return self._words.replaced(key)

    def _name(self, value: str) -> str:
        if value in _KNOWN_VALUES or _UID.fullmatch(value):
            return value
        return self._words.replaced(value)


def _is_known(domain: str) -> bool:
    """A group of the API, or what stands before a label's slash."""
    return "." not in domain or any(
        domain == each or domain.endswith(f".{each}") for each in _KNOWN_DOMAINS
    )
