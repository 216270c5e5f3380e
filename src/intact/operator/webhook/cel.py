"""CEL conditions under which the API server calls our webhooks at all.

A request that cannot make a pod unavailable never leaves the API server, and so also works while
Intact is down. The API server refuses a request when a condition fails to evaluate, so every
condition first checks whether an optional field is there.
"""

from typing import Any

from intact.budget.pdb.group_settings import WRITTEN
from intact.budget.pdb.scope import GROUP_SCOPES, POD_SCOPE, SCOPE_LABEL
from intact.budget.pub.availability import UNAVAILABLE_LABEL_PREFIX
from intact.operator.webhook import probe

OWN_KEYS = "intact.dev/"
"""How Intact's labels and annotations begin."""
Condition = dict[str, Any]

_ENDED = (
    "has(oldObject.metadata.deletionTimestamp)"
    " || (has(oldObject.status) && has(oldObject.status.phase)"
    " && oldObject.status.phase in ['Succeeded', 'Failed'])"
)
PRESENT = {"name": "pod-is-present", "expression": f"!({_ENDED})"}
"""A pod that is terminating or finished cannot be disrupted: the kubelet's last delete passes."""
NOT_OF_ITS_NAMESPACE = {
    "name": "namespace-stays",
    "expression": (
        "request.userInfo.username != 'system:serviceaccount:kube-system:namespace-controller'"
    ),
}
"""A namespace that is being deleted takes its pods with it, also while Intact is down."""


def _containers(field: str) -> str:
    """Containers of the new pod as `c`, that differ from those of the old one as `o`."""
    return (
        f"(has(object.spec.{field}) && has(oldObject.spec.{field})"
        f" && object.spec.{field}.exists(c, oldObject.spec.{field}.exists(o,"
        " o.name == c.name && (%s))))"
    )


def _of_any_container(difference: str) -> str:
    return " || ".join(
        _containers(field) % difference for field in ("containers", "initContainers")
    )


_NEW_IMAGE = _of_any_container("c.image != o.image")
_NEW_MARK = (
    "(has(object.metadata.labels) && object.metadata.labels.exists(key,"
    f" key.startsWith('{UNAVAILABLE_LABEL_PREFIX}')"
    " && !(has(oldObject.metadata.labels) && key in oldObject.metadata.labels)))"
)
_EARLIER_DEADLINE = (
    "(has(object.spec.activeDeadlineSeconds) && (!has(oldObject.spec.activeDeadlineSeconds)"
    " || object.spec.activeDeadlineSeconds < oldObject.spec.activeDeadlineSeconds))"
)


def _amount(container: str, kind: str) -> str:
    path = f"{container}.resources"
    return (
        f"(has({path}) && has({path}.{kind}) && p.resourceName in {path}.{kind}"
        f" ? string({path}.{kind}[p.resourceName]) : '')"
    )


def _limit(container: str, pod: str) -> str:
    """As the kubelet takes it: a container without a limit has that of its pod."""
    own = _amount(container, "limits")
    return f"({own} in ['', '0'] ? {_amount(f'{pod}.spec', 'limits')} : {own})"


_OTHER_AMOUNT = (
    f"{_amount('c', 'requests')} != {_amount('o', 'requests')}"
    f" || {_limit('c', 'object')} != {_limit('o', 'oldObject')}"
)
_RESTART = (
    "has(c.resizePolicy) && c.resizePolicy.exists(p,"
    f" p.restartPolicy == 'RestartContainer' && ({_OTHER_AMOUNT}))"
)
_RESTARTING_RESIZE = _of_any_container(_RESTART)
RESTARTING_RESIZE = {
    "name": "resize-restarts-a-container",
    "expression": _RESTARTING_RESIZE,
}
DISRUPTIVE_UPDATE = {
    "name": "update-can-disrupt",
    "expression": (
        f"request.operation != 'UPDATE' || {_NEW_IMAGE} || {_NEW_MARK} || {_EARLIER_DEADLINE}"
        f" || {_RESTARTING_RESIZE}"
    ),
}
"""Before Kubernetes 1.32 a resize is an update of the pod itself; since then no such update can
change resources."""

_PINNED_TO = "object.deleteOptions.preconditions.uid"
NOT_PINNED = {
    "name": "eviction-is-not-pinned",
    "expression": (
        "!has(object.deleteOptions) || !has(object.deleteOptions.preconditions)"
        f" || !has({_PINNED_TO}) || {_PINNED_TO} in ['', '{probe.UID}']"
    ),
}
"""The eviction names no UID of a pod, or is Intact's own probe."""

STAYS = {
    "name": "object-is-not-being-deleted",
    "expression": "!has(object.metadata.deletionTimestamp)",
}

_LABELLED = f"has(object.metadata.labels) && '{SCOPE_LABEL}' in object.metadata.labels"
COUNTS_GROUPS = {
    "name": "budget-counts-groups",
    "expression": f"{_LABELLED} && object.metadata.labels['{SCOPE_LABEL}'] != '{POD_SCOPE}'",
}


def _in_groups(budget: str) -> str:
    labels = f"{budget}.metadata.labels"
    return (
        f"(has({labels}) && '{SCOPE_LABEL}' in {labels}"
        f" && {labels}['{SCOPE_LABEL}'] != '{POD_SCOPE}')"
    )


COUNTED_GROUPS = {
    "name": "budget-counts-or-counted-groups",
    "expression": f"{_in_groups('object')} || {_in_groups('oldObject')}",
}
"""A status write stores labels too: one that takes the label away is not stored past the gate."""
STOPS_COUNTING_GROUPS = {
    "name": "budget-stops-counting-groups",
    "expression": f"{_in_groups('oldObject')} && !{_in_groups('object')}",
}
NOT_LABELLED = {
    "name": "budget-has-no-scope",
    "expression": (
        f"!({_LABELLED}) && (request.operation == 'CREATE' || !{_in_groups('oldObject')})"
    ),
}


def _any_key(field: str) -> str:
    return (
        f"(has(object.metadata.{field}) && object.metadata.{field}.exists(key,"
        f" key.startsWith('{OWN_KEYS}') && !(key in {list(WRITTEN)})))"
    )


HAS_OWN_KEYS = {
    "name": "budget-has-settings-of-intact",
    "expression": f"{_any_key('labels')} || {_any_key('annotations')}",
}
"""An objectSelector also matches the old object: removing the label works while Intact is down."""
SCOPED_BY_FIELD = {
    "name": "budget-counts-groups-by-its-spec",
    "expression": (
        f"!{_in_groups('object')} && has(object.spec.budgetScope)"
        f" && object.spec.budgetScope in {list(GROUP_SCOPES)}"
    ),
}
"""Only an API server that knows the field stores it."""
INTACT_DECIDES = {
    "name": "server-does-not-count-groups-itself",
    "expression": (
        "!(has(object.spec.budgetScope)"
        f" && object.spec.budgetScope in {list(GROUP_SCOPES)}"
        " && has(object.status) && has(object.status.disruptionsAllowedReplicas))"
    ),
}
"""An API server whose status has the fields of KEP-5682 decides in groups by itself."""
