"""A LeaderWorkerSet is scaled and updated group by group."""

import asyncio
from collections import Counter

import pytest

from intact.sandbox.api.pod_state import is_ready, is_terminating
from intact.sandbox.controllers.leader_worker_set import revisions
from intact.sandbox.controllers.leader_worker_set.kind import LEADER_WORKER_SETS, REVISION
from intact.sandbox.controllers.resources import CONTROLLER_REVISIONS
from tests.support.objects import Json
from tests.unit.kube.simulated import simulated
from tests.unit.sandbox.controllers.leader_worker_set.scene import (
    NS,
    Scene,
    leader_worker_set,
    scene,
)


def groups_of(found: Scene, image: str) -> set[str]:
    """The groups whose leader has this image."""
    return {
        name
        for name, pod in found.pods.items()
        if name.count("-") == 1 and pod["spec"]["containers"][0]["image"] == image
    }


def whole_groups(found: Scene) -> int:
    """Groups with all their pods ready."""
    ready: Counter[str] = Counter()
    for name, one in found.pods.items():
        if is_ready(one) and not is_terminating(one):
            ready["-".join(name.split("-")[:2])] += 1
    return sum(count == 3 for count in ready.values())


@simulated
async def test_pods_and_their_owners_have_the_names_that_lws_gives() -> None:
    async with scene(leader_worker_set()) as found:
        owners = {
            name: f"{pod['metadata']['ownerReferences'][0]['kind']} "
            f"{pod['metadata']['ownerReferences'][0]['name']}"
            for name, pod in found.pods.items()
        }
        assert owners == {
            "llm-0": "StatefulSet llm",
            "llm-0-1": "StatefulSet llm-0",
            "llm-0-2": "StatefulSet llm-0",
            "llm-1": "StatefulSet llm",
            "llm-1-1": "StatefulSet llm-1",
            "llm-1-2": "StatefulSet llm-1",
        }
        workers = found.sandbox.api.peek("statefulsets.apps", NS, "llm-0")
        assert workers is not None
        owner = workers["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"]) == ("Pod", found.pods["llm-0"]["metadata"]["uid"])


@simulated
async def test_the_status_counts_groups() -> None:
    async with scene(leader_worker_set(replicas=3)) as found:
        status = found.whole["status"]
        assert {status[name] for name in ("replicas", "readyReplicas", "updatedReplicas")} == {3}


@simulated
async def test_it_is_scaled_by_groups() -> None:
    async with scene(leader_worker_set(replicas=1)) as found:
        await found.change(replicas=3)
        await found.until_available()
        assert len(found.pods) == 9
        scale = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NS}/leaderworkersets/llm/scale"
        assert b'"replicas":3' in await found.sandbox.client().raw(scale)


@simulated
async def test_a_group_of_one_has_no_workers() -> None:
    async with scene(leader_worker_set(size=1)) as found:
        assert list(found.pods) == ["llm-0", "llm-1"]
        assert len(list(found.sandbox.api.objects("statefulsets.apps"))) == 1


@simulated
async def test_a_leader_template_is_for_leaders() -> None:
    body = leader_worker_set()
    leader = {"metadata": {}, "spec": {"containers": [{"name": "main", "image": "router:1"}]}}
    body["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = leader
    async with scene(body) as found:
        images = {name: pod["spec"]["containers"][0]["image"] for name, pod in found.pods.items()}
        assert images["llm-0"] == "router:1"
        assert images["llm-0-1"] == "engine:1"


@pytest.mark.parametrize(
    ("unavailable", "surge", "partition"), [(1, 0, 0), (2, 0, 0), (1, 2, 0), (1, 0, 2)]
)
def test_an_update_never_takes_more_groups_than_it_may(
    unavailable: int, surge: int, partition: int
) -> None:
    @simulated
    async def course() -> None:
        rolling = {"maxUnavailable": unavailable, "maxSurge": surge, "partition": partition}
        strategy = {"rollingUpdateConfiguration": rolling}
        async with scene(leader_worker_set(4, rolloutStrategy=strategy)) as found:
            fewest = 4

            def count(_old: Json | None, _new: Json | None) -> None:
                nonlocal fewest
                fewest = min(fewest, whole_groups(found))

            found.sandbox.api.follow("pods", count)
            await found.change_image("engine:2")
            updated = {f"llm-{index}" for index in range(partition, 4)}
            await found.until(lambda: groups_of(found, "engine:2") == updated, 300)
            await found.until_available()
            assert fewest == 4 - unavailable
            assert groups_of(found, "engine:1") == {f"llm-{index}" for index in range(partition)}
            for name, one in found.pods.items():
                leader = "-".join(name.split("-")[:2])
                assert one["spec"]["containers"] == found.pods[leader]["spec"]["containers"]

    course()


@simulated
async def test_below_the_partition_a_group_comes_back_as_it_was() -> None:
    strategy = {"rollingUpdateConfiguration": {"partition": 1}}
    async with scene(leader_worker_set(2, rolloutStrategy=strategy)) as found:
        await found.change_image("engine:2")
        await found.until(lambda: groups_of(found, "engine:2") == {"llm-1"})
        await found.until_available()
        before = found.pods["llm-0"]["metadata"]["uid"]
        await found.delete("llm-0-1")
        await found.until(
            lambda: found.pods.get("llm-0", {}).get("metadata", {}).get("uid") not in (before, None)
        )
        await found.until_available()
        images = {name: one["spec"]["containers"][0]["image"] for name, one in found.pods.items()}
        assert {images[name] for name in ("llm-0", "llm-0-1", "llm-0-2")} == {"engine:1"}


@simulated
async def test_a_scaled_in_group_goes_whole() -> None:
    async with scene(leader_worker_set(3)) as found:
        await found.change(replicas=1)
        await found.until(lambda: len(found.pods) == 3)
        assert sorted(found.pods) == ["llm-0", "llm-0-1", "llm-0-2"]


@simulated
async def test_it_goes_with_all_that_it_has() -> None:
    async with scene(leader_worker_set(2)) as found:
        await found.sandbox.client().delete(LEADER_WORKER_SETS, "llm", NS)
        await found.until(lambda: not found.pods)
        for full_name in ("statefulsets.apps", "controllerrevisions.apps"):
            assert not list(found.sandbox.api.objects(full_name))


def test_what_was_there_before_the_controller_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A set of a real cluster, with a revision as only its own controller makes it."""

    @simulated
    async def course() -> None:
        with monkeypatch.context() as theirs:
            theirs.setattr(revisions, "short_hash", lambda _data: "theirs")
            async with scene(leader_worker_set(2)) as found:
                pass
        for one in found.sandbox.shared.revisions.of(found.whole):
            template = {**one["data"]["spec"]["leaderWorkerTemplate"], "$patch": "replace"}
            body = {**one, "data": {"spec": {"leaderWorkerTemplate": template}}}
            name = one["metadata"]["name"]
            await found.sandbox.client().update(CONTROLLER_REVISIONS, body, name, NS)
        before = {one["metadata"]["uid"] for one in found.pods.values()}
        async with found.sandbox.running():
            await found.change(replicas=3)
            await asyncio.sleep(60)
            assert before < {one["metadata"]["uid"] for one in found.pods.values()}
            assert {found.labels(name)[REVISION] for name in found.pods} == {"theirs"}

    course()
