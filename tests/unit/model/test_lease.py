"""A Lease, as it is written."""

import msgspec

from intact.model.lease import Lease, LeaseSpec
from intact.model.meta import ObjectMeta


def test_a_lease_is_written_without_what_it_does_not_say() -> None:
    lease = Lease(
        metadata=ObjectMeta(name="l", namespace="ns"),
        spec=LeaseSpec(holder_identity="me", lease_duration_seconds=15),
    )
    assert msgspec.to_builtins(lease) == {
        "metadata": {"name": "l", "namespace": "ns"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15},
    }
