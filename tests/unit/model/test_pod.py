"""A pod, read in part."""

import msgspec

from intact.model.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus, RolePod


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


def test_init_containers_are_containers_too() -> None:
    main, init = Container(name="main"), Container(name="init")
    assert PodSpec(containers=[main], init_containers=[init]).all_containers() == [main, init]
    status = PodStatus(
        container_statuses=[ContainerStatus(name="main")],
        init_container_statuses=[ContainerStatus(name="init")],
    )
    assert [one.name for one in status.all_container_statuses()] == ["main", "init"]


def test_a_pod_of_a_role_has_what_tells_why_a_pod_is_not_ready() -> None:
    body = {
        "metadata": {"name": "p", "namespace": "ns"},
        "status": {
            "phase": "Failed",
            "reason": "Evicted",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "no room"}],
            "containerStatuses": [
                {
                    "name": "engine",
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "..."}},
                    "lastState": {"terminated": {"reason": "Error", "exitCode": 3}},
                },
                {"name": "proxy", "ready": True, "state": {"running": {"startedAt": "x"}}},
            ],
        },
    }
    status = msgspec.convert(body, RolePod).status
    assert status.reason == "Evicted"
    assert status.conditions[0].message == "no room"
    engine, proxy = status.container_statuses
    assert engine.state.waiting is not None
    assert engine.state.waiting.reason == "CrashLoopBackOff"
    assert engine.last_state.terminated is not None
    assert engine.last_state.terminated.exit_code == 3
    assert (proxy.ready, proxy.state.waiting, proxy.state.terminated) == (True, None, None)
