"""The match conditions of Intact's webhooks, in Python.

A registration has them in CEL, which is not evaluated here: each is known by its name. What the
expressions mean is tested on a real API server.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from intact.budget.pdb.group_settings import WRITTEN
from intact.budget.pdb.scope import GROUP_SCOPES, POD_SCOPE, SCOPE_LABEL
from intact.budget.pub.availability import UNAVAILABLE_LABEL_PREFIX
from intact.operator.install.budgets import MANAGER
from intact.operator.webhook import probe
from intact.operator.webhook.cel import OWN_KEYS
from intact.sandbox.api.objects import Json
from intact.sandbox.api.pod_state import is_finished

_NAMESPACE_CONTROLLER = "system:serviceaccount:kube-system:namespace-controller"


def _is_deleted(obj: Json) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _labels(obj: Json | None) -> Mapping[str, str]:
    return ((obj or {}).get("metadata") or {}).get("labels") or {}


def _pod_is_present(request: Json) -> bool:
    old = request["oldObject"]
    return not _is_deleted(old) and not is_finished(old)


def _containers(request: Json) -> Iterator[tuple[Json, Json]]:
    """The containers of a pod that were there before, each as it is and as it was."""
    for field in ("containers", "initContainers"):
        old = {each["name"]: each for each in request["oldObject"]["spec"].get(field) or ()}
        for container in request["object"]["spec"].get(field) or ():
            if container["name"] in old:
                yield container, old[container["name"]]


def _update_can_disrupt(request: Json) -> bool:
    if request["operation"] != "UPDATE":
        return True
    new, old = request["object"], request["oldObject"]
    marks = (key for key in _labels(new) if key.startswith(UNAVAILABLE_LABEL_PREFIX))
    deadline = new["spec"].get("activeDeadlineSeconds")
    before = old["spec"].get("activeDeadlineSeconds")
    return (
        any(one.get("image") != was.get("image") for one, was in _containers(request))
        or any(mark not in _labels(old) for mark in marks)
        or (deadline is not None and (before is None or deadline < before))
        or _resize_restarts(request)
    )


def _resize_restarts(request: Json) -> bool:
    new, old = request["object"]["spec"], request["oldObject"]["spec"]
    return any(
        policy.get("restartPolicy") == "RestartContainer"
        and (
            _amount(container, "requests", policy["resourceName"])
            != _amount(was, "requests", policy["resourceName"])
            or _limit(container, new, policy["resourceName"])
            != _limit(was, old, policy["resourceName"])
        )
        for container, was in _containers(request)
        for policy in container.get("resizePolicy") or ()
    )


def _limit(container: Json, spec: Json, resource: str) -> Any:
    own = _amount(container, "limits", resource)
    return _amount(spec, "limits", resource) if str(own) in ("", "0") else own


def _amount(container: Json, kind: str, resource: str) -> Any:
    return ((container.get("resources") or {}).get(kind) or {}).get(resource, "")


def _eviction_is_not_pinned(request: Json) -> bool:
    options = request["object"].get("deleteOptions") or {}
    return (options.get("preconditions") or {}).get("uid", "") in ("", probe.UID)


def _counts_groups(obj: Json | None) -> bool:
    return _labels(obj).get(SCOPE_LABEL, POD_SCOPE) != POD_SCOPE


def _has_no_scope(request: Json) -> bool:
    return SCOPE_LABEL not in _labels(request["object"]) and not _counts_groups(
        request["oldObject"]
    )


def _has_own_settings(request: Json) -> bool:
    meta = request["object"]["metadata"]
    return any(
        key.startswith(OWN_KEYS) and key not in WRITTEN
        for field in ("labels", "annotations")
        for key in meta.get(field) or ()
    )


def _is_scoped_by_its_spec(request: Json) -> bool:
    budget = request["object"]
    return not _counts_groups(budget) and _asks_by_field(budget)


def _asks_by_field(budget: Json) -> bool:
    return budget["spec"].get("budgetScope") in GROUP_SCOPES


def _intact_decides(request: Json) -> bool:
    budget = request["object"]
    known = "disruptionsAllowedReplicas" in (budget.get("status") or {})
    return not (known and _asks_by_field(budget))


CONDITIONS: dict[str, Callable[[Json], bool]] = {
    "pod-is-present": _pod_is_present,
    "namespace-stays": lambda request: request["userInfo"]["username"] != _NAMESPACE_CONTROLLER,
    "update-can-disrupt": _update_can_disrupt,
    "resize-restarts-a-container": _resize_restarts,
    "eviction-is-not-pinned": _eviction_is_not_pinned,
    "object-is-not-being-deleted": lambda request: not _is_deleted(request["object"]),
    "budget-counts-groups": lambda request: _counts_groups(request["object"]),
    "budget-counts-or-counted-groups": lambda request: (
        _counts_groups(request["object"]) or _counts_groups(request["oldObject"])
    ),
    "budget-stops-counting-groups": lambda request: (
        _counts_groups(request["oldObject"]) and not _counts_groups(request["object"])
    ),
    "budget-has-no-scope": _has_no_scope,
    "budget-has-settings-of-intact": _has_own_settings,
    "budget-counts-groups-by-its-spec": _is_scoped_by_its_spec,
    "server-does-not-count-groups-itself": _intact_decides,
    "not-by-the-uninstall": lambda request: (
        (request.get("options") or {}).get("fieldManager") != MANAGER
    ),
}
"""Each takes the AdmissionRequest."""
