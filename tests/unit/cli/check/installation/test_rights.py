"""The rights of Intact's account."""

from typing import Any

import pytest

from intact.cli.check.installation.found import look
from intact.cli.check.installation.line import State
from intact.cli.check.installation.rights import Right, granted, needed, rights
from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.kube.transport import Request, Response
from intact.operator.install.rbac import access
from intact.sandbox import MemoryApi
from tests.unit.cli.check.installation.cluster import (
    HOME,
    answer,
    client_of,
    installed,
    refused,
)
from tests.unit.operator.install.cluster import RBAC, new_api

ROLES = untyped(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = untyped(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


def reviews(given: Response) -> Any:
    def instead(request: Request) -> Response | None:
        return given if request.path.endswith("subjectaccessreviews") else None

    return instead


DENIED = reviews(answer(201, {"status": {"allowed": False}}))
GRANTED = reviews(answer(201, {"status": {"allowed": True}}))
NOT_TOLD = reviews(refused(403, "you may not", "Forbidden"))


async def without_nodes() -> MemoryApi:
    """Intact, whose role does not grant what it does with nodes."""
    api, client = await installed()
    role = await client.get(ROLES, "intact")
    role["rules"] = [rule for rule in role["rules"] if rule["resources"] != ["nodes"]]
    await client.update(ROLES, role, "intact")
    return api


async def line_of(api: MemoryApi, instead: Any = lambda _request: None) -> tuple[State, str]:
    client = client_of(api, instead)
    line = await rights(client, await look(client))
    return line.state, line.message


async def test_the_roles_of_the_manifests_grant_all() -> None:
    api, _client = await installed()
    assert (await line_of(api))[0] is State.OK


@pytest.mark.parametrize(
    ("instead", "state"), [(DENIED, State.FAIL), (GRANTED, State.OK), (NOT_TOLD, State.WARN)]
)
async def test_a_right_that_the_roles_lack(instead: Any, state: State) -> None:
    found, message = await line_of(await without_nodes(), instead)
    assert found is state
    assert ("get nodes" in message) is (state is not State.OK)


async def test_a_role_that_is_not_bound_grants_nothing() -> None:
    api, client = await installed()
    await client.delete(BINDINGS, "intact")
    found, message = await line_of(api, DENIED)
    assert found is State.FAIL
    assert "more" in message


async def test_without_roles_intact_has_an_account_of_its_own() -> None:
    client = Client(new_api())
    assert (await rights(client, await look(client))).state is State.SKIP


async def test_roles_that_may_not_be_read_are_skipped() -> None:
    api, _client = await installed()

    def instead(request: Request) -> Response | None:
        return refused(403, "no", "Forbidden") if RBAC in request.path else None

    assert (await line_of(api, instead))[0] is State.SKIP


@pytest.mark.parametrize(
    ("right", "has"),
    [
        (Right("get", "", "pods"), True),
        (Right("get", "apps", "pods"), False),
        (Right("get", "", "secrets", "mine"), True),
        (Right("get", "", "secrets", "other"), False),
        (Right("delete", "batch", "jobs"), True),
    ],
)
def test_what_rules_grant(right: Right, has: bool) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["mine"]},
        {"apiGroups": ["batch"], "resources": ["*"], "verbs": ["delete"]},
    ]
    assert granted(right, rules) is has


def test_every_rule_grants_what_it_names() -> None:
    for role in access(HOME):
        for right in needed(role.get("rules") or []):
            assert granted(right, role["rules"]), right
