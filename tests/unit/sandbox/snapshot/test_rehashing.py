"""What a hash of a RoleBasedGroup names has the hash of the group as it is in the snapshot."""

import msgspec

from intact.model.rbg import RoleBasedGroup
from intact.rollout.names import GROUP_KEY, REVISION, group_key, role_revision_label
from intact.rollout.revisions import group_hash, role_hashes
from intact.sandbox.snapshot.document import Json, KindInfo, Snapshot
from intact.sandbox.snapshot.rehashing import hashes_in, rehashed
from tests.support.rbg_objects import group, role
from tests.support.small_clusters import NOW

RBGS = KindInfo("workloads.x-k8s.io", "v1alpha1", "rolebasedgroups", "RoleBasedGroup")
PODS = KindInfo("", "v1", "pods", "Pod")


def stored(name: str = "llm") -> Json:
    body: Json = group(name, role("prefill", 2))
    body["metadata"] |= {"namespace": "shop", "uid": "u-1"}
    return body


def hashes(body: Json) -> tuple[str, str, str]:
    roles = role_hashes(msgspec.convert(body, RoleBasedGroup))
    meta = body["metadata"]
    return roles["prefill"], group_hash(roles), group_key(meta["namespace"], meta["name"])


def test_pods_carry_the_hashes_of_the_changed_group() -> None:
    before, after = stored(), stored("xa")
    after["spec"]["roles"][0]["template"]["spec"]["containers"][0]["image"] = "xb:1"
    of_role, of_group, key = hashes(before)
    labels = {role_revision_label("prefill"): of_role, REVISION: of_group, GROUP_KEY: key}
    pod = {"metadata": {"name": "llm-prefill-0", "labels": labels}}
    snapshot = Snapshot(NOW, kinds=[RBGS, PODS], objects={RBGS.full_name: [after], "pods": [pod]})
    assert hashes_in([before]) == {of_role, of_group, key}
    rehashed([before], snapshot)
    [found] = snapshot.of("pods")
    assert list(found["metadata"]["labels"].values()) == list(hashes(after))
    assert hashes(after)[0] != of_role


def test_a_group_that_cannot_be_read_is_left_alone() -> None:
    broken = stored()
    broken["spec"]["roles"] = "none"
    snapshot = Snapshot(NOW, kinds=[RBGS], objects={RBGS.full_name: [broken]})
    rehashed([stored()], snapshot)
    assert snapshot.of(RBGS.full_name) == [broken]
