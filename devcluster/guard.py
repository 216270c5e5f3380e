"""Keeps kwok from deleting pods that are not terminating.

kwok deletes by name and without a precondition. A late delete can hit the next pod of a StatefulSet
under the same name. A kubelet sends the UID, so this cannot happen to it. Therefore the API server
refuses to let kwok delete a pod that is not terminating.
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
                "message": "the pod is not terminating",
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
