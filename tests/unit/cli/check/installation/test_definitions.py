"""The CRDs."""

from copy import deepcopy
from typing import Any

import pytest

from intact.cli.check.installation.definitions import (
    custom_resources,
    is_within,
    judge,
    others_own_pubs,
)
from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import State
from intact.kube.client import Client
from intact.operator.install.crds import definitions
from intact.operator.install.install import CRDS
from tests.unit.cli.check.installation.cluster import client_of, installed, refused
from tests.unit.operator.install.cluster import new_api

PUB = definitions()[0]
ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}]}


def there(**spec: Any) -> Any:
    found = deepcopy(PUB) | {"status": ESTABLISHED}
    found["spec"] |= spec
    return found


def test_ours_is_as_it_should_be() -> None:
    assert judge(there(preserveUnknownFields=False), PUB) is None


def test_one_that_is_not_established_fails() -> None:
    line = judge(deepcopy(PUB), PUB)
    assert line is not None
    assert line.state is State.FAIL


def test_one_of_another_product_fails() -> None:
    foreign = there()
    foreign["metadata"] = {"name": PUB["metadata"]["name"]}
    line = judge(foreign, PUB)
    assert line is not None
    assert line.state is State.FAIL
    assert "OpenKruise's?" in line.message


def test_one_that_lacks_a_version_fails() -> None:
    line = judge(there(versions=PUB["spec"]["versions"][:1]), PUB)
    assert line is not None
    assert (line.state, "does not serve v1beta1" in line.message) == (State.FAIL, True)


def test_one_of_another_release_is_a_warning() -> None:
    other = there()
    other["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object"}}
    line = judge(other, PUB)
    assert line is not None
    assert line.state is State.WARN


async def test_all_are_there() -> None:
    _api, client = await installed()
    lines = await custom_resources(client, Found())
    assert {line.state for line in lines} <= {State.OK, State.FAIL}
    assert all("does not exist" not in line.message for line in lines)


async def test_each_that_is_missing_is_named() -> None:
    lines = await custom_resources(Client(new_api()), Found())
    assert [line.state for line in lines] == [State.FAIL] * 3
    assert "rolebasedgroups.workloads.x-k8s.io" in " ".join(line.message for line in lines)


async def test_what_may_not_be_read_is_skipped() -> None:
    client = client_of(new_api(), lambda _request: refused(403, "no", "Forbidden"))
    [line] = await custom_resources(client, Found())
    assert line.state is State.SKIP


async def test_whose_kind_the_budgets_are_of() -> None:
    client = Client(new_api())
    assert not await others_own_pubs(client)
    foreign = deepcopy(PUB)
    del foreign["metadata"]["labels"]
    await client.create(CRDS, foreign)
    assert await others_own_pubs(client)


@pytest.mark.parametrize(
    ("wanted", "has", "within"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": {"b": [1]}}, {"a": {"b": [1]}}, True),
        ({"a": 1}, {"a": 2}, False),
        ([1], [1, 2], False),
        ({"a": 1}, [], False),
    ],
)
def test_defaults_of_the_server_do_not_count(wanted: Any, has: Any, within: bool) -> None:
    assert is_within(wanted, has) is within
