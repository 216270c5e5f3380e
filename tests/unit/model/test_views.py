"""What is true of every view, and the few things that are particular to one."""

import inspect
import pkgutil
from importlib import import_module

import msgspec
import pytest

import intact.model
from intact.model.base import View
from intact.model.event import Event, ObjectReference
from intact.model.lease import Lease, LeaseSpec
from intact.model.meta import ListMeta, ObjectMeta
from intact.model.pod import Pod
from intact.model.status import Status


def views() -> list[type[View]]:
    found: set[type[View]] = set()
    for module in pkgutil.iter_modules(intact.model.__path__):
        members = vars(import_module(f"intact.model.{module.name}")).values()
        found |= {each for each in members if inspect.isclass(each) and issubclass(each, View)}
    return sorted(found - {View}, key=lambda view: view.__name__)


@pytest.mark.parametrize("view", views())
def test_every_view_is_frozen_and_written_as_kubernetes_writes_it(view: type[View]) -> None:
    config = view.__struct_config__
    assert config.frozen
    assert config.omit_defaults
    assert not config.gc
    for field in msgspec.structs.fields(view):
        assert "_" not in field.encode_name


def test_a_pod_is_read_in_part() -> None:
    body = b"""{
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7",
            "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": "a"},
            "annotations": {"long": "text"}, "managedFields": [{"manager": "x"}],
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "ru",
                 "controller": true}
            ]
        },
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i", "command": ["x"]}]},
        "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "c", "ready": true, "restartCount": 3, "imageID": "d"}]
        }
    }"""
    pod = msgspec.json.decode(body, type=Pod)
    assert (pod.metadata.namespace, pod.metadata.name, pod.metadata.uid) == ("ns", "p", "u")
    assert pod.metadata.resource_version == "7"
    assert pod.metadata.deletion_timestamp == "2026-01-01T00:00:00Z"
    assert pod.metadata.owner_references[0].controller
    assert pod.spec.node_name == "n"
    assert pod.spec.containers[0].image == "i"
    assert [(each.type, each.status) for each in pod.status.conditions] == [("Ready", "True")]
    assert pod.status.container_statuses[0].restart_count == 3


def test_the_image_id_of_a_container() -> None:
    """Kubernetes spells it `imageID`."""
    body = b"""{"metadata": {"name": "p", "namespace": "ns"},
        "status": {"containerStatuses": [{"name": "c", "imageID": "sha256:1"}]}}"""
    pod = msgspec.json.decode(body, type=Pod)
    assert pod.status.container_statuses[0].image_id == "sha256:1"


def test_a_bare_pod_has_defaults() -> None:
    body = b'{"metadata": {"name": "p", "namespace": "ns"}}'
    pod = msgspec.json.decode(body, type=Pod)
    assert (pod.metadata.labels, pod.status.conditions, pod.spec.node_name) == ({}, [], "")
    assert pod.metadata.deletion_timestamp is None


def test_two_pods_do_not_share_their_defaults() -> None:
    body = b'{"metadata": {"name": "p", "namespace": "ns"}}'
    first, second = (msgspec.json.decode(body, type=Pod) for _ in range(2))
    first.metadata.labels["mine"] = "only"
    assert second.metadata.labels == {}


def test_the_continue_token_of_a_list() -> None:
    meta = msgspec.json.decode(b'{"resourceVersion": "5", "continue": "next"}', type=ListMeta)
    assert (meta.resource_version, meta.continue_) == ("5", "next")


def test_a_lease_is_written_without_what_it_does_not_say() -> None:
    lease = Lease(
        metadata=ObjectMeta(name="l", namespace="ns"),
        spec=LeaseSpec(holder_identity="me", lease_duration_seconds=15),
    )
    assert msgspec.to_builtins(lease) == {
        "metadata": {"name": "l", "namespace": "ns"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
    }


def test_an_event_names_what_it_is_about() -> None:
    event = Event(
        metadata=ObjectMeta(name="e"),
        involved_object=ObjectReference(api_version="v1", kind="Pod", name="p"),
        count=2,
    )
    assert msgspec.to_builtins(event) == {
        "metadata": {"name": "e"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p"},
        "count": 2,
    }


def test_the_details_of_a_status() -> None:
    body = b"""{"kind": "Status", "code": 429, "reason": "TooManyRequests",
        "details": {"retryAfterSeconds": 10, "causes": [{"reason": "DisruptionBudget"}]}}"""
    status = msgspec.json.decode(body, type=Status)
    assert status.details is not None
    assert status.details.retry_after_seconds == 10
    assert status.details.causes[0].reason == "DisruptionBudget"
