"""Admission reviews, as the API server sends them."""

from typing import Any

import msgspec


def review(uid: str = "u-1", **request: Any) -> bytes:
    body = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": uid, **request},
    }
    return msgspec.json.encode(body)
