"""The ports of a role's Service."""

import msgspec
import pytest

from intact.model.rbg import Role
from intact.rollout.spec.service_ports import port_errors, port_name
from tests.support.rbg_objects import Json, role


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        pytest.param([{"port": 1}, {"port": 2}], [], id="different"),
        pytest.param(
            [{"port": 1, "name": "a"}, {"port": 1, "name": "b", "protocol": "UDP"}],
            [],
            id="one number, two protocols",
        ),
        pytest.param(
            [{"port": 1, "name": "a"}, {"port": 1, "name": "b", "protocol": "TCP"}],
            ["r.servicePorts[1].port"],
            id="one number, and the protocol by default",
        ),
        pytest.param(
            [{"port": 1}, {"port": 1, "protocol": "UDP"}],
            ["r.servicePorts[1].name"],
            id="both without a name",
        ),
        pytest.param(
            [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}, {"port": 3, "name": "a"}],
            ["r.servicePorts[1].name", "r.servicePorts[2].name"],
            id="one name, three times",
        ),
    ],
)
def test_ports_that_the_api_server_would_refuse(ports: list[Json], expected: list[str]) -> None:
    found = msgspec.convert(role("prefill", servicePorts=ports), Role)
    assert [each.path for each in port_errors(found, "r")] == expected


def test_a_port_without_a_name_is_named_after_its_number() -> None:
    [named, unnamed] = msgspec.convert(
        role("prefill", servicePorts=[{"port": 1, "name": "a"}, {"port": 2}]), Role
    ).service_ports
    assert [port_name(named), port_name(unnamed)] == ["a", "port2"]
