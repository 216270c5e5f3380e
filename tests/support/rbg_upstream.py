"""RoleBasedGroups that use the upstream v1alpha1 API, and what Intact does with each of them."""

from typing import Any

from tests.support.rbg_cases import Case
from tests.support.rbg_objects import Json, group, kind, role, template

LWS = kind("LeaderWorkerSet")
BASE: Json = {"name": "base", "template": template("engine:1")}


def rollout(**rolling: Any) -> Json:
    return {"rolloutStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}


def by_reference(name: str, replicas: int = 1, patch: Json | None = None, **rest: Any) -> Json:
    found = {"name": name, "replicas": replicas, "templateRef": {"name": "base"}, **rest}
    return found if patch is None else {**found, "templatePatch": patch}


HONOURED = [
    Case(
        "rolloutStrategy of all kinds",
        group(
            "llm",
            role("prefill", 4, **rollout(maxUnavailable=2, partition=1)),
            role("router", 4, **kind("Deployment"), **rollout(maxUnavailable=2, maxSurge=2)),
            role("decode", 4, leaderWorkerSet={"size": 2}, **LWS, **rollout(maxSurge="50%")),
        ),
    ),
    Case("a paused rollout", group("llm", role("prefill", 4, **rollout(paused=True)))),
    Case(
        "maxSurge of a StatefulSet, which has no effect",
        group("llm", role("prefill", 4, **rollout(maxUnavailable=2, maxSurge=2))),
    ),
    Case(
        "updates in place, if possible",
        group("llm", role("prefill", 4, **rollout(type="InPlaceIfPossible"))),
    ),
    Case(
        "restartPolicy",
        group(
            "llm",
            role("prefill", restartPolicy="None"),
            role("decode", restartPolicy="None", leaderWorkerSet={"size": 2}, **LWS),
            role("encode", restartPolicy="RecreateRoleInstanceOnPodRestart", **LWS),
        ),
    ),
    Case(
        "scalingAdapter",
        group(
            "llm",
            role("prefill", scalingAdapter={"enable": True}),
            role("decode", scalingAdapter={"enable": False}),
            role("router", scalingAdapter={}),
        ),
    ),
    Case(
        "roleTemplates",
        group(
            "llm",
            by_reference("prefill", patch={}),
            by_reference("decode"),
            role("router"),
            roleTemplates=[BASE],
        ),
    ),
    Case(
        "a coordination in the typed form, with less than one replica of a small role",
        group(
            "llm",
            role("prefill", 7),
            role("decode", 3),
            coordination=[
                {
                    "name": "together",
                    "roles": ["prefill", "decode"],
                    "strategy": {"rollingUpdate": {"maxSkew": "1%", "maxUnavailable": "10%"}},
                }
            ],
        ),
    ),
    Case(
        "ports as a Service has them",
        group(
            "llm",
            role(
                "prefill",
                servicePorts=[
                    {"name": "http", "port": 80, "appProtocol": "http", "nodePort": 0},
                    {"name": "dns", "port": 80, "protocol": "UDP"},
                ],
            ),
        ),
    ),
    Case("an empty podGroupPolicy", group("llm", role("prefill"), podGroupPolicy={})),
    Case("a workload that is left to the default", group("llm", role("prefill", workload={}))),
]

REFUSED_UPSTREAM = [
    Case(
        "gang scheduling by the scheduler plugins",
        group(
            "llm",
            role("prefill"),
            podGroupPolicy={"kubeScheduling": {"scheduleTimeoutSeconds": 120}},
        ),
        "spec.podGroupPolicy",
        "kubeScheduling",
    ),
    Case(
        "gang scheduling by Volcano",
        group("llm", role("prefill"), podGroupPolicy={"volcanoScheduling": {"queue": "default"}}),
        "spec.podGroupPolicy",
        "volcanoScheduling",
    ),
    Case(
        "an engine runtime",
        group("llm", role("prefill", engineRuntimes=[{"profileName": "sidecar"}])),
        "spec.roles[0].engineRuntimes[0].profileName",
        '"sidecar"',
    ),
    Case(
        "all roles restart with one pod",
        group("llm", role("prefill", restartPolicy="RecreateRBGOnPodRestart")),
        "spec.roles[0].restartPolicy",
        '"RecreateRBGOnPodRestart"',
    ),
    Case(
        "an unknown restart policy",
        group("llm", role("prefill", restartPolicy="Always")),
        "spec.roles[0].restartPolicy",
        '"Always": must be None or RecreateRoleInstanceOnPodRestart',
    ),
    Case(
        "components",
        group(
            "llm",
            {"name": "engine", "components": [{"name": "a", "size": 2, "template": template()}]},
        ),
        "spec.roles[0].components[0].name",
        "InstanceSet",
    ),
    Case(
        "an InstanceSet",
        group(
            "llm",
            role(
                "engine",
                workload={"apiVersion": "workloads.x-k8s.io/v1alpha1", "kind": "InstanceSet"},
            ),
        ),
        "spec.roles[0].workload",
        "InstanceSet of workloads.x-k8s.io/v1alpha1",
    ),
    Case(
        "scaling in steps",
        group(
            "llm",
            role("prefill", 10),
            role("decode", 10),
            coordination=[
                {
                    "name": "steps",
                    "roles": ["prefill", "decode"],
                    "strategy": {"scaling": {"maxSkew": "10%", "progression": "OrderReady"}},
                }
            ],
        ),
        "spec.coordination[0].strategy.scaling",
        "does not scale roles in steps",
    ),
    Case(
        "updates in place only",
        group("llm", role("prefill", **rollout(type="InPlaceOnly"))),
        "spec.roles[0].rolloutStrategy.rollingUpdate.type",
        '"InPlaceOnly"',
    ),
    Case(
        "the strategy under both names",
        group("llm", role("prefill", updateStrategy={}, **rollout(maxUnavailable=1))),
        "spec.roles[0].rolloutStrategy",
        "set only one of the two",
    ),
    Case(
        "a coordinated role with a rolloutStrategy",
        group(
            "llm",
            role("prefill", 4, **rollout(maxUnavailable=1)),
            role("decode", 4),
            coordination=[
                {
                    "name": "together",
                    "roles": ["prefill", "decode"],
                    "strategy": {"rollingUpdate": {"maxSkew": "10%"}},
                }
            ],
        ),
        "spec.roles[0].rolloutStrategy",
        "together",
    ),
    Case(
        "partition of a Deployment, under the upstream name",
        group("llm", role("router", 4, **kind("Deployment"), **rollout(partition=2))),
        "spec.roles[0].rolloutStrategy.rollingUpdate.partition",
        "Deployment",
    ),
    Case(
        "a node port",
        group("llm", role("prefill", servicePorts=[{"port": 80, "nodePort": 30080}])),
        "spec.roles[0].servicePorts[0].nodePort",
        "30080",
    ),
    Case(
        "a template that is not there",
        group("llm", by_reference("prefill")),
        "spec.roles[0].templateRef.name",
        '"base": spec.roleTemplates has no template of this name',
    ),
    Case(
        "a template and a reference",
        group("llm", by_reference("prefill", template=template()), roleTemplates=[BASE]),
        "spec.roles[0].templateRef",
        "set only one of the two",
    ),
    Case(
        "a patch on nothing",
        group("llm", role("prefill", templatePatch={"spec": {}})),
        "spec.roles[0].templatePatch",
        "no templateRef",
    ),
    Case(
        "a role template without containers",
        group("llm", by_reference("prefill"), roleTemplates=[{"name": "base", "template": {}}]),
        "spec.roleTemplates[0].template.spec.containers",
        "at least one container",
    ),
    Case(
        "two role templates of one name",
        group("llm", by_reference("prefill"), roleTemplates=[BASE, BASE]),
        "spec.roleTemplates[1]",
        "",
    ),
]

PATCHED = Case(
    "a patch that does not fit",
    group(
        "llm",
        by_reference("prefill", patch={"spec": {"containers": [{"image": "engine:2"}]}}),
        roleTemplates=[BASE],
    ),
    "spec.roles[0].template",
    "",
)
