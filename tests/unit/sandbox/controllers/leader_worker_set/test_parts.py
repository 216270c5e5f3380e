"""A sandbox serves LeaderWorkerSets."""

from intact.sandbox.cluster import Sandbox
from intact.sandbox.controllers.leader_worker_set.kind import LEADER_WORKER_SETS


async def test_they_are_served_with_their_scale() -> None:
    client = Sandbox().client()
    assert (await client.list(LEADER_WORKER_SETS)).items == []
    found = await client.raw("/apis/leaderworkerset.x-k8s.io/v1")
    assert b"leaderworkersets/scale" in found
    assert b'"lws"' in found
