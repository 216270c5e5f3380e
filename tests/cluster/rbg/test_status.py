"""What a RoleBasedGroup says of itself on a real cluster: who waits, for what, and since when."""

import asyncio
from collections.abc import Callable

from intact.kube.client import PatchType
from intact.kube.resources import RBGS, untyped
from intact.model.rbg import RoleBasedGroup, RoleProgress
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import group, kind, role, rolling
from tests.support.rbg_rollout import intact
from tests.support.rbg_waiting import (
    DEPLOYMENTS,
    GROUPS,
    change,
    completed,
    condition_of,
    group_settled,
    group_until,
    names_of,
)

EVENTS = untyped("", "v1", "events", "Event")
QUOTAS = untyped("", "v1", "resourcequotas", "ResourceQuota")
UNREADY = "devcluster.intact.dev/unready"
NOWHERE = {"nodeSelector": {"example.com/gpu": "none-has-it"}}


def template(image: str, annotations: Json | None = None, **spec: object) -> Json:
    container = {"name": "engine", "image": image}
    meta: Json = {"metadata": {"annotations": annotations}} if annotations else {}
    return {"spec": {"containers": [container], **spec}, **meta}


def trio(router: Json | None = None, prefill: Json | None = None, **spec: object) -> Json:
    """Two roles that are rolled out together, and one that updates by itself."""
    strategy = {"maxUnavailableRatio": "25%", **spec.pop("strategy", {})}  # type: ignore[dict-item]
    return group(
        "llm",
        role("router", 1, **(router or kind("Deployment"))),
        role("prefill", 4, **(prefill or {})),
        role("decode", 4),
        coordination=[rolling("prefill", "decode") | {"strategy": strategy}],
        **spec,
    )


def updated(image: str, **templates: Json) -> list[Json]:
    """A patch that gives the roles another image, or these templates."""
    return [
        {
            "op": "replace",
            "path": f"/spec/roles/{at}/template",
            "value": templates.get(name, template(image)),
        }
        for at, name in enumerate(("router", "prefill", "decode"))
    ]


def progress_of(found: RoleBasedGroup, name: str) -> RoleProgress:
    [state] = found.status.coordination_state
    return state.progress.get(name, RoleProgress())


def waits_for(name: str, *texts: str) -> Callable[[RoleBasedGroup], bool]:
    return lambda found: all(text in progress_of(found, name).waiting_for for text in texts)


def message_of(found: RoleBasedGroup, kind: str) -> str:
    condition = found.status.condition(kind)
    assert condition is not None
    return condition.message


async def told(ns: NamespaceUnderTest, reason: str) -> int:
    """How often, by the counts of its events."""
    fields = f"involvedObject.kind=RoleBasedGroup,involvedObject.name=llm,reason={reason}"
    return sum(one["count"] for one in (await ns.client.list(EVENTS, ns.name, fields=fields)).items)


async def limit(ns: NamespaceUnderTest, **hard: str) -> None:
    """A quota, as soon as the API server holds to it."""
    limits = {name.replace("__", "/").replace("_", "."): number for name, number in hard.items()}
    await ns.create(QUOTAS, {"metadata": {"name": "tight"}, "spec": {"hard": limits}})

    async def used() -> Json:
        found: Json = await ns.client.get(QUOTAS, "tight", ns.name)
        return dict(found.get("status", {}).get("used", {}))

    await eventually(used, lambda found: found.keys() == limits.keys(), "the quota to be counted")


async def test_every_transition_is_told_however_often_readiness_changes(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, trio())
    await group_settled(ns)
    rounds = 8
    for number in range(rounds):
        await change(ns, updated(f"engine:2.{number}"))
        await group_until(ns, "llm", completed, f"round {number} to be completed")

    async def completions() -> int:
        return await told(ns, "RolloutCompleted")

    await eventually(completions, lambda found: found >= rounds, "the last completion to be told")
    assert await told(ns, "RolloutStarted") == rounds
    stuck = template("engine:3", {UNREADY: "true"})
    deadline = {"op": "add", "path": "/spec/progressDeadlineSeconds", "value": 5}
    await change(ns, [*updated("engine:3", decode=stuck), deadline])
    [event] = await ns.events("RoleBasedGroup", "llm", "RolloutStalled")
    assert "llm-decode-3: container engine: not ready" in event["message"]
    fields = "involvedObject.kind=RoleBasedGroup,involvedObject.name=llm,reason=RoleNotReady"
    [readiness] = (await ns.client.list(EVENTS, ns.name, fields=fields)).items
    assert readiness["count"] > rounds, "it is one event, with a count"


async def test_a_role_at_its_own_partition_is_paused(ns: NamespaceUnderTest) -> None:
    held = {"rollingUpdate": {"partition": 2}}
    await ns.create(GROUPS, group("llm", role("router", 3, updateStrategy=held)))
    await group_settled(ns)
    patch = [{"op": "replace", "path": "/spec/roles/0/template", "value": template("engine:2")}]
    await change(ns, patch)
    found = await group_until(
        ns,
        "llm",
        lambda one: condition_of(one, "Progressing") == ("False", "Paused"),
        "the role to be paused",
    )
    assert message_of(found, "Progressing") == "router: partition: 2 of 3 stay old"
    await group_until(
        ns, "llm", lambda one: condition_of(one, "Ready")[0] == "True", "it to be ready"
    )
    assert (await intact(ns, "rbg", "status", "llm"))[0] == 5
    assert (await intact(ns, "rbg", "status", "llm", "--watch"))[0] == 5, "it ends"


async def test_a_refused_role_is_told_once_and_holds_up_no_other(ns: NamespaceUnderTest) -> None:
    await limit(ns, count__deployments_apps="0")
    await ns.create(GROUPS, trio())
    await ns.events("RoleBasedGroup", "llm", "RoleNotApplied")
    ready = {"prefill": 4, "decode": 4}
    found = await ns.client.get(RBGS, "llm", ns.name)
    for image in ("engine:2", "engine:3"):  # many reconciles
        await change(ns, updated(image))
        found = await group_until(
            ns,
            "llm",
            lambda one: (
                one.status.observed_generation == one.metadata.generation
                and ready.items()
                <= {
                    each.name: each.updated_ready_replicas for each in one.status.role_statuses
                }.items()
            ),
            f"the other roles to have {image}",
        )
    assert condition_of(found, "Ready") == ("False", "RoleNotApplied")
    assert "exceeded quota" in message_of(found, "Ready")
    assert await told(ns, "RoleNotApplied") == 1
    await ns.client.delete(QUOTAS, "tight", ns.name)
    await group_settled(ns)
    assert await names_of(ns, DEPLOYMENTS) == ["llm-router"]


async def test_messages_name_the_pod_and_the_cause(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, trio())
    await group_settled(ns)
    stuck = template("engine:2", **NOWHERE)
    await change(ns, updated("engine:2", decode=stuck, router=stuck))
    cause = "Unschedulable: 0/"
    found = await group_until(
        ns, "llm", waits_for("decode", f"llm-decode-3: {cause}"), "decode to say why it waits"
    )
    statuses = {one.name: one.message for one in found.status.role_statuses}
    assert statuses["decode"].startswith(f"llm-decode-3: {cause}")
    assert f"llm-decode-3: {cause}" in message_of(found, "Ready")
    await change(ns, updated("engine:3", decode=template("engine:3", {UNREADY: "true"})))
    await group_until(
        ns, "llm", waits_for("decode", "llm-decode-3: container engine: not ready"), "a probe"
    )
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    status = {"name": "engine", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    await ns.client.patch(
        PODS,
        {"status": {"containerStatuses": [{**status, "state": state}]}},
        "llm-decode-3",
        ns.name,
        type=PatchType.STRATEGIC,
        subresource="status",
    )
    await group_until(
        ns,
        "llm",
        waits_for("decode", "llm-decode-3: container engine: ImagePullBackOff: image engine:3"),
        "an image that cannot be pulled",
    )


async def test_a_canary_that_comes_and_goes_stalls(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, trio(strategy={"partition": "75%"}, progressDeadlineSeconds=12))
    await group_settled(ns)
    await change(ns, updated("engine:2"))

    def state(found: RoleBasedGroup) -> str:
        return progress_of(found, "decode").state

    def down_since(began: float) -> Callable[[RoleBasedGroup], bool]:
        """Stalled, or down for long enough to add up."""

        def down(found: RoleBasedGroup) -> bool:
            one = progress_of(found, "decode")
            return one.state == "Stalled" or (one.ready == 0 and loop.time() - began > 4)

        return down

    loop = asyncio.get_running_loop()
    found = await group_until(
        ns, "llm", lambda one: state(one) == "Paused", "the canary to be ready"
    )
    for _ in range(8):
        await annotate(ns, "llm-decode-3", "true")
        found = await group_until(ns, "llm", down_since(loop.time()), "the canary to be down")
        if state(found) == "Stalled":
            break
        await annotate(ns, "llm-decode-3", "false")
        await group_until(ns, "llm", lambda one: progress_of(one, "decode").ready == 1, "it again")
    assert state(found) == "Stalled"
    assert progress_of(found, "decode").most_ready == 1


async def annotate(ns: NamespaceUnderTest, pod: str, unready: str) -> None:
    await ns.client.patch(PODS, {"metadata": {"annotations": {UNREADY: unready}}}, pod, ns.name)


async def test_a_pod_with_a_foreign_finalizer_is_named_and_holds_up_no_other_role(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, trio(progressDeadlineSeconds=5))
    await group_settled(ns)
    holds: Json = {"metadata": {"finalizers": ["example.com/holds"]}}
    await ns.client.patch(PODS, holds, "llm-decode-3", ns.name)
    await change(ns, updated("engine:2"))
    text = "llm-decode-3: is being deleted and waits for the finalizer example.com/holds"
    found = await group_until(
        ns,
        "llm",
        lambda one: (
            waits_for("decode", text)(one) and progress_of(one, "decode").state == "Stalled"
        ),
        "the finalizer to be named, and the role to be stalled",
    )
    assert text in message_of(found, "Stalled")
    assert text in message_of(found, "Ready")

    def others_are_updated(one: RoleBasedGroup) -> bool:
        counts = {each.name: each.updated_ready_replicas for each in one.status.role_statuses}
        return (counts["router"], counts["prefill"]) == (1, 4)

    await group_until(ns, "llm", others_are_updated, "the others, which no rule keeps in step")
    await ns.client.patch(PODS, {"metadata": {"finalizers": None}}, "llm-decode-3", ns.name)
    await group_until(ns, "llm", completed, "it to be completed")


async def test_a_revision_over_quota_is_told_and_holds_only_its_rollout(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(GROUPS, trio())
    first = (await group_settled(ns)).status.current_revision
    await limit(ns, count__controllerrevisions_apps="1")
    await change(ns, updated("engine:2"))
    text = "cannot be stored: "
    found = await group_until(
        ns,
        "llm",
        lambda one: (
            waits_for("prefill", text, "exceeded quota")(one)
            and {each.name: each.updated_ready_replicas for each in one.status.role_statuses}
            == {"router": 1, "prefill": 0, "decode": 0}
        ),
        "the rollout to be held, and the other role to be updated",
    )
    assert {progress_of(found, name).state for name in ("prefill", "decode")} == {"Paused"}
    assert condition_of(found, "Ready") == ("False", "RoleNotApplied")
    assert found.status.current_revision == first
    assert await told(ns, "RoleNotApplied") == 1
    await ns.client.delete(QUOTAS, "tight", ns.name)
    found = await group_until(ns, "llm", completed, "it to be completed")
    assert found.status.current_revision == found.status.update_revision != first


async def test_a_deployment_that_gets_no_pods_says_why(ns: NamespaceUnderTest) -> None:
    await ns.create(GROUPS, trio(prefill=kind("Deployment")))
    await group_settled(ns)
    await limit(ns, pods="1")
    await change(ns, updated("engine:2"))
    found = await group_until(
        ns,
        "llm",
        waits_for("prefill", "Deployment llm-prefill", "FailedCreate: ", "exceeded quota"),
        "the Deployment to say why it has no pods",
    )
    statuses = {one.name: one.message for one in found.status.role_statuses}
    assert "exceeded quota" in statuses["prefill"]
    await ns.client.delete(QUOTAS, "tight", ns.name)
    await group_until(ns, "llm", completed, "it to be completed")
