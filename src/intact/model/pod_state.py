"""What can be read off a pod, and off the metadata of its owners.

This runs for every pod event: plain loops cost a third of `next()` over a generator.
"""

from typing import Protocol

from intact.model.meta import OwnerReference
from intact.model.pod import Pod, PodCondition


class _Deletable(Protocol):
    @property
    def deletion_timestamp(self) -> str | None: ...


class Deletable(Protocol):
    """Any object whose view has the time of deletion."""

    @property
    def metadata(self) -> _Deletable: ...


class _Ending(_Deletable, Protocol):
    @property
    def finalizers(self) -> list[str]: ...


class Ending(Protocol):
    """Any object whose view has the time of deletion and the finalizers."""

    @property
    def metadata(self) -> _Ending: ...


class _Owned(Protocol):
    @property
    def owner_references(self) -> list[OwnerReference]: ...


class Owned(Protocol):
    """Any object whose view has the owners."""

    @property
    def metadata(self) -> _Owned: ...


def is_terminating(found: Deletable) -> bool:
    """The API server has accepted its deletion; it may still run for a while."""
    return found.metadata.deletion_timestamp is not None


def is_ending(owner: Ending) -> bool:
    """It is being deleted, and so will its pods be. With `--cascade=orphan` they stay: until the
    garbage collector has cut them off, its finalizer is there."""
    return is_terminating(owner) and "orphan" not in owner.metadata.finalizers


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def is_gone(pod: Pod) -> bool:
    """Terminating or finished: the pod no longer serves, and does not come back."""
    return is_terminating(pod) or is_finished(pod)


def condition_of(pod: Pod, kind: str) -> PodCondition | None:
    for one in pod.status.conditions:
        if one.type == kind:
            return one
    return None


def has_condition(pod: Pod, kind: str) -> bool:
    """Whether the pod has the condition, and it is true."""
    for one in pod.status.conditions:
        if one.type == kind:
            return one.status == "True"
    return False


def is_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and has_condition(pod, "Ready")


def controller_among(references: list[OwnerReference]) -> OwnerReference | None:
    for reference in references:
        if reference.controller:
            return reference
    return None


def controller_of(found: Owned) -> OwnerReference | None:
    """The owner that controls an object."""
    return controller_among(found.metadata.owner_references)


def controller_uid(found: Owned) -> str:
    """The UID of the owner that controls an object, or empty."""
    controller = controller_of(found)
    return controller.uid if controller is not None else ""
