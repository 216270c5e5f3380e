"""Keeps kwok from deleting a pod that nobody asked to delete.

kwok deletes by name and without a precondition. When it is late, it may mean a pod that is gone and
hit the one that a StatefulSet has made since under the same name. A kubelet would not: it names the
UID. So the API server refuses kwok whatever is not terminating.
"""

from __future__ import annotations

from typing import Any

from devcluster.api import Api

NAME = "devcluster-kwok-deletes-only-terminating-pods"


def create_guard(api: Api, user: str) -> None:
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["DELETE"],
                    "resources": ["pods"],
                }
            ]
        },
        "matchConditions": [
            {"name": "kwok", "expression": f"request.userInfo.username == '{user}'"}
        ],
        "validations": [
            {
                "expression": "has(oldObject.metadata.deletionTimestamp)",
                "message": "nobody has asked for the deletion of this pod",
            }
        ],
    }
    binding = {"policyName": NAME, "validationActions": ["Deny"]}
    _create(api, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", policy)
    _create(api, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", binding)


def _create(api: Api, resource: str, kind: str, spec: dict[str, Any]) -> None:
    api.create(
        f"/apis/admissionregistration.k8s.io/v1/{resource}",
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": NAME},
            "spec": spec,
        },
    )
