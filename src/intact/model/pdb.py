"""PodDisruptionBudget, of policy/v1."""

from typing import TYPE_CHECKING

import msgspec

from intact.model.amounts import IntOrPercent
from intact.model.base import View
from intact.model.meta import Condition, LabelSelector, ObjectMeta

if TYPE_CHECKING:
    _Times = dict[str, str]
else:
    _Times = dict[str, str | None]
"""As `PdbStatus` gives them; the API server writes null for Go's zero time."""
_ZERO_TIME = "0001-01-01T00:00:00Z"


class ManagedFields(View):
    """Which manager has written an object, and when; not what."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""


class PdbMeta(ObjectMeta):
    managed_fields: list[ManagedFields] = []


class PdbSpec(View):
    selector: LabelSelector | None = None
    max_unavailable: IntOrPercent | None = None
    min_available: IntOrPercent | None = None
    unhealthy_pod_eviction_policy: str | None = None
    budget_scope: str | None = None
    """Of KEP-5682: only an API server that knows it stores it."""


class PdbStatus(View):
    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: _Times = {}
    """Names of pods whose eviction the API server has allowed, with the time. It writes them."""
    conditions: list[Condition] = []
    # Of KEP-5682, in the unit of the budget; None where the API server does not know them.
    disruptions_allowed_replicas: int | None = None
    current_healthy_replicas: int | None = None
    desired_healthy_replicas: int | None = None
    expected_replicas: int | None = None

    def __post_init__(self) -> None:
        if None in self.disrupted_pods.values():
            times = {name: at or _ZERO_TIME for name, at in self.disrupted_pods.items()}
            msgspec.structs.force_setattr(self, "disrupted_pods", times)


class PodDisruptionBudget(View):
    metadata: PdbMeta
    spec: PdbSpec = PdbSpec()
    status: PdbStatus = PdbStatus()

    @property
    def server_decides(self) -> bool:
        """Whether the API server itself decides in groups: the field asks for them, and the status
        shows that the server knows them."""
        in_groups = self.spec.budget_scope not in (None, "Pod")
        return in_groups and self.status.disruptions_allowed_replicas is not None
