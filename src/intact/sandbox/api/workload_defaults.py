"""What the server fills in where a workload says nothing."""

from typing import Any

from intact.sandbox.api.objects import Json

_TEMPLATE_POD_DEFAULTS: Json = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}
_MOST = 2**31 - 1
_RETAIN = {"whenDeleted": "Retain", "whenScaled": "Retain"}


def default_pod_spec(spec: Json) -> None:
    for name, value in _TEMPLATE_POD_DEFAULTS.items():
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        for port in container.get("ports", ()):
            port.setdefault("protocol", "TCP")


def default_template(workload: Json) -> None:
    template = workload.setdefault("spec", {}).get("template")
    if template:
        default_pod_spec(template.setdefault("spec", {}))


def default_replicas(workload: Json) -> None:
    workload.setdefault("spec", {}).setdefault("replicas", 1)
    default_template(workload)


def default_replication_controller(controller: Json) -> None:
    default_replicas(controller)
    spec = controller["spec"]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)


def default_deployment(deployment: Json) -> None:
    default_replicas(deployment)
    spec = deployment["spec"]
    strategy = _strategy(spec, "strategy")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, "rollingUpdate", {"maxUnavailable": "25%", "maxSurge": "25%"})
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def default_stateful_set(stateful_set: Json) -> None:
    default_replicas(stateful_set)
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    named = bool((spec.get("updateStrategy") or {}).get("type"))
    strategy = _strategy(spec, "updateStrategy")
    # A strategy that is named and says no more keeps its silence.
    if strategy["type"] == "RollingUpdate" and (not named or "rollingUpdate" in strategy):
        _fill(strategy, "rollingUpdate", {"partition": 0})
        # Behind a feature gate that is off by default in 1.36.
        strategy["rollingUpdate"].pop("maxUnavailable", None)
    _fill(spec, "persistentVolumeClaimRetentionPolicy", _RETAIN)
    spec.setdefault("revisionHistoryLimit", 10)


def default_daemon_set(daemon_set: Json) -> None:
    default_template(daemon_set)
    spec = daemon_set["spec"]
    strategy = _strategy(spec, "updateStrategy")
    if strategy["type"] == "RollingUpdate":
        _fill(strategy, "rollingUpdate", {"maxUnavailable": 1, "maxSurge": 0})
    spec.setdefault("revisionHistoryLimit", 10)


def default_job(job: Json) -> None:
    default_template(job)
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    defaults = {
        "parallelism": 1,
        "backoffLimit": _MOST if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        "manualSelector": False,
    }
    for name, value in defaults.items():
        spec.setdefault(name, value)
    meta = job.get("metadata") or {}
    # Admission is asked before there is a UID, and the name may be yet to be generated.
    if not spec["manualSelector"] and meta.get("uid") and "selector" not in spec:
        _select_own_pods(spec, meta["name"], meta["uid"])


def _select_own_pods(spec: Json, name: str, uid: str) -> None:
    labels = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}job-name", name)
        labels.setdefault(f"{prefix}controller-uid", uid)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def _strategy(spec: Json, name: str) -> Json:
    strategy: Json = spec.get(name) or {}
    spec[name] = strategy
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    return strategy


def _fill(spec: Json, name: str, defaults: dict[str, Any]) -> None:
    given = spec.get(name) or {}
    spec[name] = {**defaults, **given}
