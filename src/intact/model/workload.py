"""Workloads: the owners of pods, which say how many pods there should be.

Most kinds say it by their scale. DaemonSets and Jobs have none, and say it elsewhere.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from intact.model.base import View, read_leniently
from intact.model.meta import OwnerReference


class WorkloadMeta(View):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class TemplateMeta(View):
    labels: dict[str, str] = {}


class Template(View):
    metadata: TemplateMeta = TemplateMeta()


class WorkloadSpec(View):
    replicas: int | None = None
    template: Template = Template()


class Workload(View):
    metadata: WorkloadMeta
    spec: WorkloadSpec = WorkloadSpec()


class Ordinals(View):
    start: int = 0


class StatefulSetSpec(WorkloadSpec):
    ordinals: Ordinals = Ordinals()


class StatefulSet(Workload):
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetStatus(View):
    observed_generation: int = 0
    desired_number_scheduled: int = 0


class DaemonSet(Workload):
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(WorkloadSpec):
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False


class JobCondition(View):
    type: str = ""
    status: str = ""


class JobStatus(View):
    succeeded: int = 0
    failed_indexes: str = ""
    """Of an indexed Job that goes on without them: as `1,3-5`."""
    conditions: list[JobCondition] = []


class Job(Workload):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class LeaderWorkerTemplate(View):
    size: Any = None
    """An integer in the kind of this name that is known; vendors may have others."""


class LeaderWorkerSetSpec(WorkloadSpec):
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()


class LeaderWorkerSet(Workload):
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


W = TypeVar("W", bound=Workload)


def salvaging(view: type[W]) -> Callable[[bytes], W]:
    """Reads what can be read of a workload of a custom kind, whose fields may be of any type."""

    def salvage(raw: bytes) -> W:
        found = msgspec.json.decode(raw)
        meta, _ = read_leniently(WorkloadMeta, found.get("metadata"), "metadata")
        form = {field.name: field.type for field in msgspec.structs.fields(view)}
        spec, _ = read_leniently(form["spec"], found.get("spec"), "spec")
        return view(metadata=meta, spec=spec)

    return salvage


_MOST_DIGITS = 10
"""Of an ordinal."""
_INDEXES = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")
_ENDED = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})
"""Conditions of a Job that is over, or whose controller ends what is left of it."""


def stated_pods(workload: Workload) -> int | None:
    """How many pods a workload without a scale wants; None if it does not say."""
    if isinstance(workload, DaemonSet):
        # Until its controller has seen it, the status says nothing.
        return workload.status.desired_number_scheduled if _is_observed(workload) else None
    if isinstance(workload, Job):
        return _wanted_by_job(workload)
    return None


def _is_observed(workload: DaemonSet) -> bool:
    return workload.status.observed_generation > 0


def _wanted_by_job(job: Job) -> int | None:
    spec, status = job.spec, job.status
    if spec.suspend or any(
        one.type in _ENDED and one.status == "True" for one in status.conditions
    ):
        return 0
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is not None:
        done = status.succeeded + _number_of(status.failed_indexes)
        return max(0, min(parallelism, spec.completions - done))
    # Of a work queue: once a pod has succeeded, the others are not replaced.
    return None if status.succeeded else parallelism


def _number_of(indexes: str) -> int:
    """How many indexes a text names; what cannot be read is none."""
    found = (_INDEXES.fullmatch(part) for part in indexes.split(","))
    return sum(max(0, int(one[2] or one[1]) - int(one[1]) + 1) for one in found if one)


def pods_per_group(workload: Workload) -> int | None:
    """How many pods a group of a workload that scales in groups has; None if it does not say."""
    if not isinstance(workload, LeaderWorkerSet):
        return None
    size = workload.spec.leader_worker_template.size
    return size if isinstance(size, int) and size > 0 else None


def wanted_ordinals(workload: Workload | None) -> range | None:
    """The ordinals that a StatefulSet wants pods of; None if it wants none, or is another kind."""
    if not isinstance(workload, StatefulSet):
        return None
    start, replicas = workload.spec.ordinals.start, workload.spec.replicas
    return range(start, start + (1 if replicas is None else replicas)) or None


def ordinal_of(pod: str, stateful_set: str) -> int | None:
    """From the name of a StatefulSet's pod."""
    text = pod.removeprefix(f"{stateful_set}-")
    if text == pod or not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        return None
    return int(text)
