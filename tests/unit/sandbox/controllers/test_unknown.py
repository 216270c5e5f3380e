"""Pods that do not come back are told apart from those that do."""

import pytest

from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.unknown import Owners
from tests.support.objects import Json, pod


def owned(kind: str, api_version: str = "apps/v1", name: str = "w") -> Json:
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": "1", "controller": True}
    return pod("p", namespace="ns", ownerReferences=[owner])


@pytest.fixture
def owners() -> Owners:
    return Owners(Sandbox().parts)


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [
        ("ReplicaSet", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("DaemonSet", "apps/v1"),
        ("ReplicationController", "v1"),
        ("Job", "batch/v1"),
    ],
)
def test_known_kinds_bring_their_pods_back(owners: Owners, kind: str, api_version: str) -> None:
    assert owners.why_lost(owned(kind, api_version)) == ""


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("CloneSet", "apps.kruise.io/v1alpha1"), ("StatefulSet", "apps.kruise.io/v1"), ("Node", "v1")],
)
def test_of_other_kinds_it_is_said_that_they_are_not_known(
    owners: Owners, kind: str, api_version: str
) -> None:
    why = owners.why_lost(owned(kind, api_version))
    assert why == f"what the controller of {kind} w does is not known"


def test_a_bare_pod_does_not_come_back(owners: Owners) -> None:
    assert owners.why_lost(pod("p", namespace="ns")) == "it has no controller that brings it back"


def test_a_kind_may_be_known_by_its_name_alone(owners: Owners) -> None:
    assert owners.is_named("StatefulSet")
    assert not owners.is_named("CloneSet")
