"""What people may do with budgets and RoleBasedGroups: roles for those who work in a namespace.

Kubernetes aggregates them into its own ClusterRoles `view`, `edit` and `admin`: whoever
administers a namespace can use Intact there without another binding.
"""

from typing import Any

from intact.operator.names import LABELS

Json = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_AGGREGATE = f"{_RBAC}/aggregate-to-"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "update", "patch", "delete", "deletecollection"]
_KINDS = (
    ("policy.kruise.io", ["podunavailablebudgets"]),
    ("workloads.x-k8s.io", ["rolebasedgroups", "rolebasedgroupscalingadapters"]),
)
_SCALES = ["rolebasedgroupscalingadapters/scale"]
"""What a HorizontalPodAutoscaler, or `kubectl scale`, writes."""


def user_roles() -> list[Json]:
    """`intact-view`, `intact-edit` and `intact-admin`."""
    statuses = [
        _rule(group, [f"{kind}/status" for kind in kinds], _READ) for group, kinds in _KINDS
    ]
    view = [
        *(_rule(group, kinds, _READ) for group, kinds in _KINDS),
        *statuses,
        _rule("workloads.x-k8s.io", _SCALES, ["get"]),
    ]
    edit = [
        *view,
        *(_rule(group, kinds, _WRITE) for group, kinds in _KINDS),
        _rule("workloads.x-k8s.io", _SCALES, ["update", "patch"]),
    ]
    return [
        _role("intact-view", view, "view", "edit", "admin"),
        _role("intact-edit", edit, "edit", "admin"),
        _role("intact-admin", edit, "admin"),
    ]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Json:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _role(name: str, rules: list[Json], *into: str) -> Json:
    labels = LABELS | {f"{_AGGREGATE}{each}": "true" for each in into}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": rules,
    }
