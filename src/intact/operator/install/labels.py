"""The labels of everything that an installation consists of.

Selectors have `names.LABELS` alone: the selector of a Deployment cannot be changed.
"""

from collections.abc import Mapping
from typing import Any

from intact import __version__
from intact.operator.names import LABELS, OPERATOR

Json = dict[str, Any]

_PREFIX = "app.kubernetes.io"
MANAGED_BY = f"{_PREFIX}/managed-by"
OPERATOR_COMPONENT = "operator"
_COMPONENTS = {"CustomResourceDefinition": "definitions"}
USER_ROLES = "user-roles"


def labels_of(component: str, more: Mapping[str, str]) -> dict[str, str]:
    return {
        **more,
        **LABELS,
        f"{_PREFIX}/instance": OPERATOR,
        f"{_PREFIX}/version": __version__,
        f"{_PREFIX}/component": component,
        f"{_PREFIX}/part-of": OPERATOR,
        MANAGED_BY: OPERATOR,
    }


def labelled(body: Json, more: Mapping[str, str]) -> Json:
    """The object with these labels besides those that it has."""
    meta = body["metadata"]
    component = _COMPONENTS.get(body["kind"], OPERATOR_COMPONENT)
    if any("aggregate-to" in key for key in meta["labels"]):
        component = USER_ROLES
    labels = labels_of(component, more) | meta["labels"]
    return {**body, "metadata": {**meta, "labels": labels}}
