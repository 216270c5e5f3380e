"""Lease, of coordination.k8s.io/v1."""

from intact.model.base import View
from intact.model.meta import ObjectMeta


class LeaseSpec(View):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(View):
    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()
