"""RoleBasedGroups that are refused and accepted: one table for the pure rules and for the real
server."""

from dataclasses import dataclass
from typing import Any

from tests.support.rbg_objects import batches, group, kind, role, rolling, template

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    name: str
    body: Json
    field: str = ""
    message: str = ""


P, D = role("prefill", 40), role("decode", 20)


def coordinated(*coordination: Json, roles: tuple[Json, ...] = (P, D), **spec: Any) -> Json:
    return group("llm", *roles, coordination=list(coordination), **spec)


TYPED = {
    "name": "together",
    "roles": ["prefill", "decode"],
    "strategy": {"rollingUpdate": {"maxSkew": "10%", "maxUnavailable": "10%", "partition": "80%"}},
}
SIX_THREE = (role("prefill", 6), role("decode", 3))

ACCEPTED = [
    Case("no coordination", group("llm", P, D)),
    Case(
        "all kinds",
        group("llm", P, role("a", **kind("Deployment")), role("b", **kind("LeaderWorkerSet"))),
    ),
    Case(
        "the flat form",
        coordinated(
            rolling("prefill", "decode", maxSkew="1%", maxUnavailableRatio="5%", partition="80%")
        ),
    ),
    Case("upstream's typed form without a type", coordinated(TYPED)),
    Case("batches", coordinated(batches({"prefill": 2, "decode": 1}), roles=SIX_THREE)),
    Case(
        "both types on the same roles",
        coordinated(
            rolling("prefill", "decode", maxUnavailableRatio="34%"),
            batches({"prefill": 2, "decode": 1}),
            roles=SIX_THREE,
        ),
    ),
    Case("replicas left to the adapter", group("llm", role("prefill", None), D)),
    Case("no replicas", group("llm", role("prefill", 0), D)),
    Case(
        "a Deployment may surge",
        coordinated(
            rolling("prefill", "decode", maxUnavailableRatio="0%"),
            roles=(
                role("prefill", 4, **kind("Deployment")),
                role("decode", 2, **kind("Deployment")),
            ),
        ),
    ),
    Case("dependencies", group("llm", P, role("decode", dependencies=["prefill"]))),
    Case(
        "nothing, without a unit",
        coordinated(rolling("prefill", "decode", maxSkew=0, partition="0")),
    ),
    Case(
        "nothing, without a unit and typed",
        coordinated(TYPED | {"strategy": {"rollingUpdate": {"maxSkew": "0", "partition": 0}}}),
    ),
    Case(
        "nothing unavailable, but a surge",
        group(
            "llm",
            role(
                "router",
                updateStrategy={"rollingUpdate": {"maxUnavailable": 0}},
                **kind("Deployment"),
            ),
        ),
    ),
    Case("skew of nothing", coordinated(rolling("prefill", "decode", maxSkew="0%"))),
]

_STRATEGY = "spec.coordination[0].strategy"
_AFFINITY = f"{_STRATEGY}.affinityScheduling"
REFUSED = [
    Case("no roles", group("llm"), "spec.roles", "at least"),
    Case(
        "unknown role",
        coordinated(rolling("prefill", "encode")),
        "spec.coordination[0].roles[1]",
        "no role of this name",
    ),
    Case(
        "role named twice",
        coordinated(rolling("prefill", "decode", "prefill")),
        "spec.coordination[0].roles[2]",
        "named twice",
    ),
    Case("one role", coordinated(rolling("prefill")), "spec.coordination[0].roles", "at least two"),
    Case(
        "the same role only",
        coordinated(rolling("prefill", "prefill")),
        "spec.coordination[0].roles",
        "at least two",
    ),
    Case(
        "two coordinations of one type",
        coordinated(rolling("prefill", "decode"), rolling("decode", "prefill", name="again")),
        "spec.coordination[1].roles[0]",
        "together",
    ),
    Case(
        "skew over the range",
        coordinated(rolling("prefill", "decode", maxSkew="101%")),
        f"{_STRATEGY}.maxSkew",
        "from 0% to 100%",
    ),
    Case(
        "skew without a unit",
        coordinated(rolling("prefill", "decode", maxSkew="10")),
        f"{_STRATEGY}.maxSkew",
        "from 0% to 100%",
    ),
    Case(
        "skew as a number",
        coordinated(rolling("prefill", "decode", maxSkew=10)),
        f"{_STRATEGY}.maxSkew",
        "from 0% to 100%, or 0",
    ),
    Case(
        "typed partition as a number",
        coordinated(TYPED | {"strategy": {"rollingUpdate": {"partition": 80}}}),
        f"{_STRATEGY}.rollingUpdate.partition",
        "from 0% to 100%, or 0",
    ),
    Case(
        "nothing may be unavailable, without a unit",
        coordinated(rolling("prefill", "decode", maxUnavailableRatio=0)),
        f"{_STRATEGY}.maxUnavailableRatio",
        "allows 0 of the 40 replicas of the role prefill",
    ),
    Case(
        "skew with a fraction",
        coordinated(rolling("prefill", "decode", maxSkew="0.5%")),
        f"{_STRATEGY}.maxSkew",
        "from 0% to 100%",
    ),
    Case(
        "negative partition",
        coordinated(rolling("prefill", "decode", partition="-1%")),
        f"{_STRATEGY}.partition",
        "from 0% to 100%",
    ),
    Case(
        "typed skew over the range",
        coordinated(TYPED | {"strategy": {"rollingUpdate": {"maxSkew": "200%"}}}),
        f"{_STRATEGY}.rollingUpdate.maxSkew",
        "from 0% to 100%",
    ),
    Case(
        "both forms",
        coordinated(TYPED | {"strategy": {"maxSkew": "1%", "rollingUpdate": {"maxSkew": "2%"}}}),
        f"{_STRATEGY}.rollingUpdate.maxSkew",
        "strategy.maxSkew is set as well",
    ),
    Case(
        "nothing may be unavailable",
        coordinated(rolling("prefill", "decode", maxUnavailableRatio="0%")),
        f"{_STRATEGY}.maxUnavailableRatio",
        "allows 0 of the 40 replicas of the role prefill",
    ),
    Case(
        "a ratio of less than a pod",
        coordinated(rolling("prefill", "decode", maxUnavailableRatio="4%")),
        f"{_STRATEGY}.maxUnavailableRatio",
        "it must be at least 5%",
    ),
    Case(
        "a ratio of less than a batch",
        coordinated(
            rolling("prefill", "decode", maxUnavailableRatio="33%"),
            batches({"prefill": 2, "decode": 1}),
            roles=SIX_THREE,
        ),
        f"{_STRATEGY}.maxUnavailableRatio",
        "a batch of 2",
    ),
    Case(
        "a coordinated role with its own strategy",
        coordinated(
            rolling("prefill", "decode"),
            roles=(P, role("decode", 20, updateStrategy={"type": "RollingUpdate"})),
        ),
        "spec.roles[1].updateStrategy",
        "together",
    ),
    Case(
        "unknown type",
        coordinated(rolling("prefill", "decode") | {"type": "Recreate"}),
        "spec.coordination[0].type",
        "RollingUpdate or AffinityScheduling",
    ),
    Case(
        "a ratio is missing",
        coordinated(batches({"prefill": 2}) | {"roles": ["prefill", "decode"]}, roles=SIX_THREE),
        f"{_AFFINITY}.ratios",
        "must have a ratio for the role decode",
    ),
    Case(
        "a ratio of another role",
        coordinated(
            batches({"prefill": 2, "decode": 1, "router": 1}) | {"roles": ["prefill", "decode"]},
            roles=SIX_THREE,
        ),
        f"{_AFFINITY}.ratios[router]",
        "no role of this name",
    ),
    Case(
        "a ratio that does not divide",
        coordinated(batches({"prefill": 4, "decode": 1}), roles=SIX_THREE),
        f"{_AFFINITY}.ratios[prefill]",
        "does not divide the 6 replicas",
    ),
    Case(
        "a ratio of nothing",
        coordinated(batches({"prefill": 0, "decode": 1}), roles=SIX_THREE),
        f"{_AFFINITY}.ratios",
        "1",
    ),
    Case(
        "no topology",
        coordinated(batches({"prefill": 2, "decode": 1}, topologyKey=""), roles=SIX_THREE),
        f"{_AFFINITY}.topologyKey",
        "must be the key of a node label",
    ),
    Case(
        "unknown mode",
        coordinated(batches({"prefill": 2, "decode": 1}, mode="Random"), roles=SIX_THREE),
        f"{_AFFINITY}.batchMode",
        "Sequential or Parallel",
    ),
    Case(
        "rolling rules in batches",
        coordinated(
            batches({"prefill": 2, "decode": 1})
            | {
                "strategy": {
                    "maxSkew": "1%",
                    "affinityScheduling": {
                        "topologyKey": "zone",
                        "ratios": {"prefill": 2, "decode": 1},
                    },
                }
            },
            roles=SIX_THREE,
        ),
        _STRATEGY,
        "do not apply to AffinityScheduling",
    ),
    Case(
        "unknown dependency",
        group("llm", P, role("decode", dependencies=["encode"])),
        "spec.roles[1].dependencies[0]",
        "no role of this name",
    ),
    Case(
        "dependency on itself",
        group("llm", role("prefill", dependencies=["prefill"])),
        "spec.roles[0].dependencies",
        "prefill -> prefill",
    ),
    Case(
        "dependency cycle",
        group(
            "llm",
            role("a", dependencies=["c"]),
            role("b", dependencies=["a"]),
            role("c", dependencies=["b"]),
        ),
        "spec.roles[0].dependencies",
        "a -> c -> b -> a",
    ),
    Case(
        "unknown workload",
        group("llm", role("prefill", workload={"apiVersion": "apps/v1", "kind": "DaemonSet"})),
        "spec.roles[0].workload",
        "must be StatefulSet or Deployment of apps/v1",
    ),
    Case(
        "workload of another version",
        group("llm", role("prefill", workload={"apiVersion": "apps/v2", "kind": "StatefulSet"})),
        "spec.roles[0].workload",
        "must be StatefulSet or Deployment of apps/v1",
    ),
    Case(
        "a size without a set",
        group("llm", role("prefill", leaderWorkerSet={"size": 2})),
        "spec.roles[0].leaderWorkerSet",
        "this role is a StatefulSet",
    ),
    Case(
        "no containers",
        group("llm", {"name": "prefill", "template": {}}),
        "spec.roles[0].template.spec.containers",
        "at least one container",
    ),
    Case(
        "a container that is none",
        group("llm", {"name": "prefill", "template": {"spec": {"containers": ["engine"]}}}),
        "spec.roles[0].template.spec.containers[0]",
        "must be an object",
    ),
    Case(
        "a container without a name",
        group("llm", {"name": "prefill", "template": {"spec": {"containers": [{"image": "a"}]}}}),
        "spec.roles[0].template.spec.containers[0].name",
        "must be a name",
    ),
    Case(
        "a volume without a name",
        group("llm", role("prefill") | {"template": template(volumes=[{"emptyDir": {}}])}),
        "spec.roles[0].template.spec.volumes[0].name",
        "must be a name",
    ),
    Case(
        "labels that are no strings",
        group(
            "llm", role("prefill") | {"template": template() | {"metadata": {"labels": {"a": 1}}}}
        ),
        "spec.roles[0].template.metadata.labels[a]",
        "must be a string",
    ),
    Case(
        "a patch that is none",
        group(
            "llm",
            role(
                "prefill",
                leaderWorkerSet={"patchWorkerTemplate": {"spec": "x"}},
                **kind("LeaderWorkerSet"),
            ),
        ),
        "spec.roles[0].leaderWorkerSet.patchWorkerTemplate.spec",
        "must be an object",
    ),
    Case(
        "surge of a StatefulSet",
        group("llm", role("prefill", updateStrategy={"rollingUpdate": {"maxSurge": 1}})),
        "spec.roles[0].updateStrategy.rollingUpdate.maxSurge",
        "StatefulSet",
    ),
    Case(
        "partition of a Deployment",
        group(
            "llm",
            role(
                "prefill", updateStrategy={"rollingUpdate": {"partition": 1}}, **kind("Deployment")
            ),
        ),
        "spec.roles[0].updateStrategy.rollingUpdate.partition",
        "Deployment",
    ),
    *(
        Case(
            f"{amount} as {field} of {strategy}",
            group("llm", role("router", **sets) | {strategy: {"rollingUpdate": {field: amount}}}),
            f"spec.roles[0].{strategy}.rollingUpdate.{field}",
            "from 0% to 100%",
        )
        for strategy in ("updateStrategy", "rolloutStrategy")
        for field, amount, sets in (
            ("maxUnavailable", "101%", kind("StatefulSet")),
            ("maxUnavailable", "3", kind("Deployment")),
            ("maxSurge", -1, kind("Deployment")),
            ("partition", "some", kind("StatefulSet")),
        )
    ),
    Case(
        "a strategy that allows nothing",
        group(
            "llm",
            role(
                "router",
                4,
                updateStrategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
                **kind("Deployment"),
            ),
        ),
        "spec.roles[0].updateStrategy.rollingUpdate.maxUnavailable",
        "0: must be at least 1 while maxSurge is 0",
    ),
    Case(
        "a strategy that allows nothing, in percent and by the upstream name",
        group(
            "llm",
            role(
                "router",
                4,
                rolloutStrategy={"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": "0%"}},
                **kind("Deployment"),
            ),
        ),
        "spec.roles[0].rolloutStrategy.rollingUpdate.maxUnavailable",
        '"0%": must be at least 1 while maxSurge is 0%',
    ),
    Case(
        "nothing unavailable and no surge by default",
        group(
            "llm",
            role(
                "decode",
                4,
                updateStrategy={"rollingUpdate": {"maxUnavailable": 0}},
                **kind("LeaderWorkerSet"),
            ),
        ),
        "spec.roles[0].updateStrategy.rollingUpdate.maxUnavailable",
        "while maxSurge is 0 by default",
    ),
    Case(
        "nothing unavailable in a StatefulSet",
        group("llm", role("prefill", updateStrategy={"rollingUpdate": {"maxUnavailable": 0}})),
        "spec.roles[0].updateStrategy.rollingUpdate.maxUnavailable",
        "a StatefulSet takes a pod down before it makes another",
    ),
    Case(
        "two ports of one number",
        group(
            "llm",
            role("prefill", servicePorts=[{"name": "a", "port": 80}, {"name": "b", "port": 80}]),
        ),
        "spec.roles[0].servicePorts[1].port",
        "80: servicePorts[0] has the same port and protocol (TCP)",
    ),
    Case(
        "two ports of one name",
        group(
            "llm",
            role("prefill", servicePorts=[{"name": "a", "port": 80}, {"name": "a", "port": 81}]),
        ),
        "spec.roles[0].servicePorts[1].name",
        '"a": servicePorts[0] has the same name',
    ),
    Case(
        "a port with the name that another one gets",
        group("llm", role("prefill", servicePorts=[{"name": "port80", "port": 81}, {"port": 80}])),
        "spec.roles[0].servicePorts[1].name",
        '"port80": servicePorts[0] has the same name, which a port without a name gets',
    ),
    Case(
        "a name that is no label", group("llm", role("Prefill")), "spec.roles[0].name", "DNS label"
    ),
    Case("a name with a dot", group("llm.prod", P), "", "DNS label"),
    Case(
        "a name that is too long",
        group("l" * 30, role("p" * 22)),
        "spec.roles[0].name",
        "53 characters; at most 52 are allowed",
    ),
    Case(
        "unknown end", group("llm", P, onFailure="Explode"), "spec.onFailure", "Pause or Rollback"
    ),
    Case(
        "no time at all",
        group("llm", P, progressDeadlineSeconds=0),
        "spec.progressDeadlineSeconds",
        "1",
    ),
    Case("two roles of one name", group("llm", P, P), "spec.roles[1]", ""),
    Case(
        "two coordinations of one name",
        coordinated(
            rolling("prefill", "decode"), rolling("a", "b"), roles=(P, D, role("a"), role("b"))
        ),
        "spec.coordination[1]",
        "",
    ),
]


def _container(**rest: Any) -> Json:
    return template() | {"spec": {"containers": [{"name": "engine", "image": "engine:1", **rest}]}}


def _templated(given: Json, **rest: Any) -> Json:
    return group("llm", role("router"), {"name": "prefill", "template": given, **rest})


_AT = "spec.roles[1].template.spec"
REFUSED_BY_THE_SERVER = [
    Case(
        "a restart policy that the workload does not take",
        _templated(template(restartPolicy="Never")),
        f"{_AT}.restartPolicy",
        'Unsupported value: "Never"',
    ),
    Case(
        "no image",
        _templated({"spec": {"containers": [{"name": "engine"}]}}, **kind("Deployment")),
        f"{_AT}.containers[0].image",
        "Required value",
    ),
    Case(
        "more asked for than allowed",
        _templated(_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        f"{_AT}.containers[0].resources.requests",
        "must be less than or equal to cpu limit of 1",
    ),
    Case(
        "a volume that is not there",
        _templated(_container(volumeMounts=[{"name": "model", "mountPath": "/model"}])),
        f"{_AT}.containers[0].volumeMounts[0].name",
        'Not found: "model"',
    ),
    Case(
        "an environment variable, by the number that the user gave it",
        _templated(_container(env=[{"name": "A", "value": "1"}, {"name": "B=", "value": "2"}])),
        f"{_AT}.containers[0].env[1].name",
        'Invalid value: "B="',
    ),
    Case(
        "a field that pods do not have",
        _templated(template(contaners=[])),
        f"{_AT}.contaners",
        "field not declared in schema",
    ),
    Case(
        "a value of another type",
        _templated(_container(ports=[{"containerPort": "80"}])),
        f'{_AT}.containers[name="engine"].ports',
        "expected numeric",
    ),
    Case(
        "two containers of one name",
        _templated(
            template() | {"spec": {"containers": [{"name": "engine", "image": "engine:1"}] * 2}}
        ),
        f"{_AT}.containers",
        'duplicate entries for key [name="engine"]',
    ),
    Case(
        "a quantity that is none",
        _templated(_container(resources={"requests": {"cpu": "much"}})),
        "spec.roles[1].template",
        "quantities must match",
    ),
    Case(
        "a template of a LeaderWorkerSet, which is not served yet",
        _templated(template(restartPolicy="Never"), **kind("LeaderWorkerSet")),
        f"{_AT}.restartPolicy",
        'Unsupported value: "Never"',
    ),
    Case(
        "a patch for workers",
        _templated(
            template(),
            leaderWorkerSet={
                "size": 2,
                "patchWorkerTemplate": {"spec": {"restartPolicy": "Never"}},
            },
            **kind("LeaderWorkerSet"),
        ),
        f"{_AT}.restartPolicy",
        'supported values: "Always" (of workers)',
    ),
    Case(
        "a patch that does not fit",
        _templated(
            template(),
            leaderWorkerSet={
                "patchLeaderTemplate": _container(volumeMounts=[{"name": "model"}]),
            },
            **kind("LeaderWorkerSet"),
        ),
        "spec.roles[1].leaderWorkerSet",
        "does not contain declared merge key: mountPath",
    ),
    Case(
        "a template by reference",
        group(
            "llm",
            {"name": "prefill", "templateRef": {"name": "base"}},
            roleTemplates=[{"name": "base", "template": template(restartPolicy="Never")}],
        ),
        "spec.roles[0].templateRef",
        "its template.spec.restartPolicy: Unsupported value",
    ),
    Case(
        "a port that a Service does not take",
        _templated(template(), servicePorts=[{"name": "Web Site", "port": 80}]),
        "spec.roles[1].servicePorts[0].name",
        "Web Site",
    ),
    Case(
        "a label that is none",
        _templated(template(), labels={"tier": "not a label"}),
        "spec.roles[1].labels",
        "not a label",
    ),
]
"""Only the API server knows that these are wrong."""
