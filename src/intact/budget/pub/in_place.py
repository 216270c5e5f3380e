"""In-place changes of a pod: which of them can make the pod unavailable, and when each is over."""

import re

from intact.budget.pub.availability import UNAVAILABLE_LABEL_PREFIX, is_marked_unavailable
from intact.model.pod import (
    ContainerResources,
    ContainerStatus,
    Pod,
    ResizableContainer,
    ResizablePod,
)
from intact.model.pod_state import has_condition, is_ready
from intact.model.pub import ContainerMark, LedgerRecord


def restarted_containers(old: Pod, new: Pod) -> dict[str, ContainerMark]:
    """The containers that an update restarts: those with another image."""
    images = {container.name: container.image for container in old.spec.all_containers()}
    return mark_containers(
        old,
        {
            container.name: container.image
            for container in new.spec.all_containers()
            if images.get(container.name, container.image) != container.image
        },
    )


def restarting_resizes(old: ResizablePod, new: ResizablePod) -> dict[str, str]:
    """The containers that a resize restarts, as `mark_containers` takes them."""
    before = {one.name: one for one in old.spec.containers + old.spec.init_containers}
    restarted = {}
    for container in new.spec.containers + new.spec.init_containers:
        known = before.get(container.name)
        changed = set[str]()
        if known is not None:
            changed = _changed_resources(_resources(known, old), _resources(container, new))
        if any(
            policy.restart_policy == "RestartContainer" and policy.resource_name in changed
            for policy in container.resize_policy
        ):
            restarted[container.name] = ""
    return restarted


def _resources(container: ResizableContainer, pod: ResizablePod) -> ContainerResources:
    """As the kubelet takes them: a container without a limit has that of its pod."""
    own = {name: limit for name, limit in container.resources.limits.items() if limit not in _NONE}
    limits = {**pod.spec.resources.limits, **own}
    return ContainerResources(requests=container.resources.requests, limits=limits)


_NONE = (0, "0")


def _changed_resources(old: ContainerResources, new: ContainerResources) -> set[str]:
    changed = set()
    for one, two in ((old.requests, new.requests), (old.limits, new.limits)):
        changed |= {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)}
    return changed


def mark_containers(pod: Pod, wanted: dict[str, str]) -> dict[str, ContainerMark]:
    """The marks of these containers as they run now, to tell them from those that run later.

    `wanted` has the image that the change asks for, by container; empty for a resize.
    """
    statuses = {status.name: status for status in pod.status.all_container_statuses()}
    images = {container.name: container.image for container in pod.spec.all_containers()}
    marks = {}
    for name, image in wanted.items():
        found = statuses.get(name) or ContainerStatus(name=name)
        marks[name] = ContainerMark(
            container_id=found.container_id,
            image_id=found.image_id,
            image=images.get(name, "") if _is_digest(found.image) else found.image,
            wanted=image,
        )
    return marks


def is_newly_marked(old: Pod, new: Pod) -> bool:
    """Whether an update adds a label that takes the pod out of service."""
    return any(
        key.startswith(UNAVAILABLE_LABEL_PREFIX) and key not in old.metadata.labels
        for key in new.metadata.labels
    )


def ends_sooner(old: Pod, new: Pod) -> bool:
    """Whether an update gives a pod less time to live."""
    before, after = old.spec.active_deadline_seconds, new.spec.active_deadline_seconds
    return after is not None and (before is None or after < before)


def has_begun(record: LedgerRecord, pod: Pod) -> bool:
    """Whether the change took place: the pod's spec has the image that the change asked for. For a
    resize it is the kubelet that says so, in a condition, or in a field before Kubernetes 1.33: the
    store keeps no resources."""
    images = {container.name: container.image for container in pod.spec.all_containers()}
    resizes = has_condition(pod, "PodResizeInProgress") or pod.status.resize == "InProgress"
    return all(
        mark.wanted == images.get(name) if mark.wanted else resizes
        for name, mark in record.containers.items()
    )


def is_over(record: LedgerRecord, pod: Pod, *, late: bool = False) -> bool:
    """Whether an in-place change has ended: the containers that it brought run, and are ready.

    A change without containers has set the unavailable label, and is over once the pod has that.
    `late` says that the record has outlived its lifetime: then less evidence is enough.
    """
    if not record.containers:
        return is_marked_unavailable(pod)
    if not is_ready(pod):
        return False
    images = {container.name: container.image for container in pod.spec.all_containers()}
    statuses = {status.name: status for status in pod.status.all_container_statuses()}
    initial = {container.name for container in pod.spec.init_containers}
    return all(
        name in statuses
        and (
            _runs_anew(mark, statuses[name], images.get(name, ""), late=late)
            or (late and _stays(mark, statuses[name], initial=name in initial))
        )
        for name, mark in record.containers.items()
    )


def _stays(mark: ContainerMark, status: ContainerStatus, *, initial: bool) -> bool:
    """Whether the kubelet will not restart the container: a user changed the image back in time, or
    it is an init container, which had ended before the pod began to run."""
    runs_already = bool(mark.wanted) and (
        same_image(mark.wanted, mark.image)
        or same_image(mark.wanted, status.image)
        # Changed more than once, and shown without a name: its image cannot be told.
        or (not mark.image_id and _is_digest(status.image))
    )
    return status.ready and (runs_already or initial)


def _runs_anew(mark: ContainerMark, status: ContainerStatus, image: str, *, late: bool) -> bool:
    """Whether another container runs than the marked one, and another image.

    Image names say little: a status may show another tag of the same image, or a bare digest. So
    any of these is enough: the name that the spec asks for, another image ID, another name than
    before. For a container that was changed more than once, only the name is. When the record is
    late, the kubelet must have seen the change, and any restart is enough.
    """
    if mark.container_id and status.container_id == mark.container_id:
        return False
    if not status.ready:
        return False
    if late or not mark.wanted:  # a resize shows nothing but the restart
        return True
    if not mark.image_id:  # an earlier change may still restart it: only the name is enough
        return same_image(status.image, image)
    return (
        same_image(status.image, image)
        or status.image_id != mark.image_id
        or not (_is_digest(status.image) or same_image(status.image, mark.image))
    )


def _is_digest(image: str) -> bool:
    """Whether the runtime shows only the digest of an image, as some do."""
    return image.startswith("sha256:")


_DEFAULT_TAG = re.compile(r"^[^@]+/[^@:/]+$")


def same_image(one: str, two: str) -> bool:
    return _normalised(one) == _normalised(two)


def _normalised(image: str) -> str:
    """The full name, with the registry, library and tag that people may leave out."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif not ("." in first or ":" in first or first == "localhost"):
        image = f"docker.io/{image}"
    return f"{image}:latest" if _DEFAULT_TAG.match(image) else image
