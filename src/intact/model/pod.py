"""Pod."""

from intact.model.base import View
from intact.model.meta import OwnerReference


class PodMeta(View):
    """A pod's metadata without its annotations: they can be large, and nobody reads them yet."""

    name: str
    namespace: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    owner_references: list[OwnerReference] = []


class Container(View):
    name: str
    image: str = ""


class PodSpec(View):
    node_name: str = ""
    containers: list[Container] = []


class PodCondition(View):
    type: str
    status: str


class ContainerStatus(View):
    name: str
    image: str = ""
    image_id: str = ""
    ready: bool = False
    restart_count: int = 0


class PodStatus(View):
    phase: str = ""
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []


class Pod(View):
    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
