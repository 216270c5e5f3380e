"""Workloads: the owners of pods, which say how many pods there should be."""

from intact.model.base import View
from intact.model.meta import OwnerReference


class WorkloadMeta(View):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
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
