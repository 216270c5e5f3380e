"""The ports of a role's Service. Two ports may not share a name, nor a number and protocol: the API
server would refuse the Service, and with it the role."""

from collections.abc import Iterator

from intact.model.field_error import FieldError
from intact.model.rbg import Role, RolePort


def port_name(port: RolePort) -> str:
    """A Service with several ports needs a name for each."""
    return port.name or f"port{port.port}"


def port_protocol(port: RolePort) -> str:
    return port.protocol or "TCP"


def port_errors(role: Role, path: str) -> Iterator[FieldError]:
    names: dict[str, int] = {}
    numbers: dict[tuple[int, str], int] = {}
    for index, port in enumerate(role.service_ports):
        at = f"{path}.servicePorts[{index}]"
        name, number = port_name(port), (port.port, port_protocol(port))
        if (first := numbers.setdefault(number, index)) != index:
            message = f"servicePorts[{first}] has the same port and protocol ({number[1]})"
            yield FieldError(f"{at}.port", port.port, message)
        elif (first := names.setdefault(name, index)) != index:
            unnamed = "" if port.name else ", which a port without a name gets"
            message = f"servicePorts[{first}] has the same name{unnamed}"
            yield FieldError(f"{at}.name", name, message)
