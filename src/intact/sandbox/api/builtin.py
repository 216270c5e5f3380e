"""The built-in kinds: where each differs from a custom one, and what the server defaults."""

from base64 import b64encode
from functools import partial

from intact.sandbox.api.definitions import default_definition
from intact.sandbox.api.kinds import Kind, NameRule, Scale
from intact.sandbox.api.new_pods import admit_pod, default_requests
from intact.sandbox.api.objects import Json, metadata
from intact.sandbox.api.workload_defaults import (
    default_daemon_set,
    default_deployment,
    default_job,
    default_pod_spec,
    default_replicas,
    default_replication_controller,
    default_stateful_set,
)


def _default_pod(pod: Json) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    default_requests(spec)
    spec.setdefault("enableServiceLinks", True)


def _default_secret(secret: Json) -> None:
    secret.setdefault("type", "Opaque")
    plain = secret.pop("stringData", None) or {}
    if plain:
        data = secret.setdefault("data", {})
        data |= {key: b64encode(value.encode()).decode() for key, value in plain.items()}


def _default_namespace(namespace: Json) -> None:
    finalizers = namespace.setdefault("spec", {}).setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    name = metadata(namespace).get("name")
    if name:
        metadata(namespace).setdefault("labels", {})["kubernetes.io/metadata.name"] = name


_builtin = partial(
    Kind, custom=False, unconditional_update=True, strategic=True, status_writes_metadata=True
)
_plain = partial(_builtin, generation=False)
_workload = partial(
    _builtin,
    "apps",
    "v1",
    status=True,
    scale=Scale(selector="spec.selector"),
    default=default_replicas,
)
_webhooks = partial(
    _builtin, "admissionregistration.k8s.io", "v1", namespaced=False, unconditional_update=False
)

PODS = _builtin(
    "",
    "v1",
    "pods",
    "Pod",
    status=True,
    graceful=True,
    resize=True,
    returns_deleted=True,
    default=_default_pod,
    admit_new=admit_pod,
    short_names=("po",),
    selectable_fields=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
)
NAMESPACES = _plain(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    status=True,
    initial_status={"phase": "Active"},
    returns_deleted=True,
    name_rule=NameRule.LABEL,
    selectable_fields=("status.phase",),
    default=_default_namespace,
    short_names=("ns",),
)
POD_DISRUPTION_BUDGETS = _builtin(
    "policy",
    "v1",
    "poddisruptionbudgets",
    "PodDisruptionBudget",
    status=True,
    unconditional_update=False,
    zero_status={
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    # Those of KEP-5682.
    unknown=(
        "spec.budgetScope",
        "status.disruptionsAllowedReplicas",
        "status.currentHealthyReplicas",
        "status.desiredHealthyReplicas",
        "status.expectedReplicas",
    ),
    short_names=("pdb",),
)

DEFAULT_KINDS: tuple[Kind, ...] = (
    PODS,
    NAMESPACES,
    POD_DISRUPTION_BUDGETS,
    _plain("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    _plain("", "v1", "secrets", "Secret", selectable_fields=("type",), default=_default_secret),
    _plain(
        "",
        "v1",
        "services",
        "Service",
        status=True,
        create_on_update=True,
        returns_deleted=True,
        zero_status={"loadBalancer": {}},
        name_rule=NameRule.LABEL,
        selectable_fields=("spec.clusterIP", "spec.type"),
        short_names=("svc",),
    ),
    _plain(
        "",
        "v1",
        "nodes",
        "Node",
        namespaced=False,
        status=True,
        keeps_status_on_create=True,
        selectable_fields=("spec.unschedulable",),
        short_names=("no",),
    ),
    _plain(
        "",
        "v1",
        "events",
        "Event",
        create_on_update=True,
        garbage_collected=False,
        selectable_fields=(
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
        short_names=("ev",),
    ),
    _plain(
        "", "v1", "serviceaccounts", "ServiceAccount", returns_deleted=True, short_names=("sa",)
    ),
    _builtin(
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        status=True,
        scale=Scale(selector="spec.selector"),
        zero_status={"replicas": 0},
        default=default_replication_controller,
        selectable_fields=("status.replicas",),
        short_names=("rc",),
    ),
    _workload(
        "deployments",
        "Deployment",
        generation_covers_annotations=True,
        default=default_deployment,
        short_names=("deploy",),
    ),
    _workload(
        "replicasets",
        "ReplicaSet",
        zero_status={"replicas": 0},
        selectable_fields=("status.replicas",),
        short_names=("rs",),
    ),
    _workload(
        "statefulsets",
        "StatefulSet",
        zero_status={"replicas": 0, "availableReplicas": 0},
        default=default_stateful_set,
        short_names=("sts",),
    ),
    _workload(
        "daemonsets",
        "DaemonSet",
        scale=None,
        default=default_daemon_set,
        zero_status={
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
        short_names=("ds",),
    ),
    _plain("apps", "v1", "controllerrevisions", "ControllerRevision"),
    _builtin(
        "batch",
        "v1",
        "jobs",
        "Job",
        status=True,
        default=default_job,
        selectable_fields=("status.successful",),
    ),
    _plain(
        "coordination.k8s.io",
        "v1",
        "leases",
        "Lease",
        unconditional_update=False,
        create_on_update=True,
    ),
    _builtin(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        namespaced=False,
        short_names=("pc",),
    ),
    _builtin(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        status=True,
        unconditional_update=False,
        default=default_definition,
        short_names=("crd", "crds"),
    ),
    _webhooks("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    _webhooks("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
)
