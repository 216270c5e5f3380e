"""What can go wrong while building or running a development cluster."""


class DevclusterError(Exception):
    """The cluster cannot be built, started or used; the message says why and where to look."""


class BuildError(DevclusterError):
    """A binary could not be built, or there is no Go toolchain to build it with."""


class ComponentError(DevclusterError):
    """A component ended or did not become healthy; the message ends with its last log lines."""


class DeadlineError(DevclusterError):
    """A condition did not become true in time."""


class NotRunningError(DevclusterError):
    """There is no running cluster in the data directory."""


class ApiError(DevclusterError):
    """The API server answered with an error."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
