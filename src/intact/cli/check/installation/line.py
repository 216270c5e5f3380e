"""The answer to one question about the installation."""

from dataclasses import dataclass
from enum import StrEnum

from intact.kube.errors import Forbidden, KubeError


class State(StrEnum):
    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"
    SKIP = "SKIP"
    """It does not apply, or may not be asked."""


@dataclass(frozen=True, slots=True)
class Line:
    state: State
    name: str
    message: str


def ok(name: str, message: str) -> Line:
    return Line(State.OK, name, message)


def warn(name: str, message: str) -> Line:
    return Line(State.WARN, name, message)


def fail(name: str, message: str) -> Line:
    return Line(State.FAIL, name, message)


def skip(name: str, message: str) -> Line:
    return Line(State.SKIP, name, message)


def not_asked(name: str, error: KubeError) -> Line:
    """What may not be read is not wrong; any other failure is."""
    return skip(name, str(error)) if isinstance(error, Forbidden) else fail(name, str(error))
