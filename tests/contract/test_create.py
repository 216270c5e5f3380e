"""Creating objects."""

import re

import pytest

from intact.kube.errors import AlreadyExists, ApiError, BadRequest, Invalid, NotFound
from intact.kube.own_user import REVIEWS
from tests.contract.backends import Backend
from tests.support.objects import CONFIGMAPS, PODS, WIDGETS, configmap, pod, widget

UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def test_the_server_fills_in_metadata(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, configmap("a", {"k": "v"}), backend.namespace)
    meta = made["metadata"]
    assert UID.fullmatch(meta["uid"])
    assert int(meta["resourceVersion"]) > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
    assert meta["namespace"] == backend.namespace
    assert made["data"] == {"k": "v"}
    assert made == await backend.client.get(CONFIGMAPS, "a", backend.namespace)


async def test_kind_and_api_version_may_be_left_out_of_a_built_in_object(backend: Backend) -> None:
    made = await backend.client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, backend.namespace)
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")


async def test_an_existing_name_is_refused(backend: Backend) -> None:
    await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    with pytest.raises(AlreadyExists) as caught:
        await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")
    assert str(caught.value) == 'configmaps "a" already exists'


async def test_a_recreated_object_has_another_uid(backend: Backend) -> None:
    first = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    await backend.client.delete(CONFIGMAPS, "a", backend.namespace)
    second = await backend.client.create(CONFIGMAPS, configmap("a"), backend.namespace)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_generate_name_makes_a_name(backend: Backend) -> None:
    body = configmap("")
    del body["metadata"]["name"]
    body["metadata"]["generateName"] = "some-"
    names = {
        (await backend.client.create(CONFIGMAPS, body, backend.namespace))["metadata"]["name"]
        for _ in range(3)
    }
    assert len(names) == 3
    assert all(re.fullmatch(r"some-[a-z0-9]{5}", name) for name in names)


async def test_resource_version_on_create_is_refused(backend: Backend) -> None:
    with pytest.raises(ApiError, match="resourceVersion should not be set on objects"):
        await backend.client.create(
            CONFIGMAPS, configmap("a", resourceVersion="1"), backend.namespace
        )


@pytest.mark.parametrize("name", ["UPPER", "under_score", "-dash", "a" * 254])
async def test_a_bad_name_is_refused_with_its_field(backend: Backend, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        await backend.client.create(CONFIGMAPS, configmap(name), backend.namespace)
    assert [cause.field for cause in caught.value.causes] == ["metadata.name"]


async def test_an_unknown_namespace_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound, match='namespaces "no-such-place" not found'):
        await backend.client.create(CONFIGMAPS, configmap("a"), "no-such-place")


async def test_a_create_with_another_kind_in_the_body_is_refused(backend: Backend) -> None:
    body = configmap("a") | {"kind": "Secret"}
    with pytest.raises(BadRequest):
        await backend.client.create(CONFIGMAPS, body, backend.namespace)


async def test_a_create_with_another_namespace_in_the_body_is_refused(backend: Backend) -> None:
    with pytest.raises(BadRequest, match="namespace of the provided object does not match"):
        await backend.client.create(
            CONFIGMAPS, configmap("a", namespace="elsewhere"), backend.namespace
        )


async def test_an_object_that_does_not_exist_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound) as caught:
        await backend.client.get(CONFIGMAPS, "nothing", backend.namespace)
    assert str(caught.value) == 'configmaps "nothing" not found'
    details = caught.value.status.details
    assert details is not None
    assert (details.name, details.kind) == ("nothing", "configmaps")


async def test_status_of_a_new_custom_resource_is_dropped(backend: Backend) -> None:
    body = widget("w") | {"status": {"phase": "Invented"}}
    made = await backend.client.create(WIDGETS, body, backend.namespace)
    assert "status" not in made


async def test_a_new_pod_is_pending(backend: Backend) -> None:
    made = await backend.client.create(PODS, pod("p", node=backend.node), backend.namespace)
    assert made["status"]["phase"] == "Pending"
    assert made["metadata"]["generation"] == 1


async def test_a_client_can_find_out_who_it_is(backend: Backend) -> None:
    found = await backend.client.create(REVIEWS, {})
    assert found.status.user_info.username
