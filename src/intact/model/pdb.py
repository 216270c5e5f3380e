"""PodDisruptionBudget, of policy/v1."""

from intact.model.amounts import IntOrPercent
from intact.model.base import View
from intact.model.meta import Condition, LabelSelector, ObjectMeta


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
    """Of KEP-5682; no API server has it yet."""


class PdbStatus(View):
    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = {}
    """Names of pods whose eviction the API server has allowed, with the time. It writes them."""
    conditions: list[Condition] = []


class PodDisruptionBudget(View):
    metadata: PdbMeta
    spec: PdbSpec = PdbSpec()
    status: PdbStatus = PdbStatus()
