"""What can be set of an installation, once for all: the values of the chart (its `values.yaml` and
`values.schema.json` are made from this) and the flags of `intact manifests`.

A constraint on one field is in its type. Constraints between fields are in `_check_together`, and
in the chart's `templates/checks.yaml`.
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from intact.budget.selector_text import parse_selector
from intact.budget.selectors import check_selector
from intact.operator.names import DEFAULT_CONTROLLERS, HTTP_PORT, WEBHOOK_PORT

Json = dict[str, Any]
T = TypeVar("T")

NO_PRIORITY_CLASS = "none"
CRITICAL = ("system-cluster-critical", "system-node-critical")
"""The priority classes that some clusters allow outside kube-system only by a ResourceQuota."""
MEMORY_LIMIT = "1Gi"
"""For 50,000 pods, with strangers at all places of the webhook port; docs/install.md has more."""
KUBELET_PORT = 10250
_OWN_KEY = "a label key without the prefix app.kubernetes.io/ or helm.sh/"
_OR_NUMBER = "orNumber"
"""Marks texts that may be given as a number of this type, as in a pod."""
_RESERVED = r"^(app\.kubernetes\.io|helm\.sh)/"

_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = rf"({_NAME}(\.{_NAME})*/)?{_LABEL}"
_VALUES = rf"({_LABEL})?( *, *({_LABEL})?)*"
_REQUIREMENT = (
    rf" *(!? *{_KEY}|{_KEY} *(=|==|!=) *({_LABEL})?|{_KEY} +(in|notin) +\( *{_VALUES} *\)) *"
)

Image = Annotated[str, Meta(pattern=r"^[^\s]*$", title="the name of an image")]
Name = Annotated[
    str, Meta(pattern=rf"^{_NAME}(\.{_NAME})*$", max_length=253, title="the name of an object")
]
LabelKey = Annotated[str, Meta(pattern=rf"^{_KEY}$", title="a label key")]
OwnLabelKey = Annotated[
    str,
    Meta(
        pattern=rf"^{_KEY}$",
        title=_OWN_KEY,
        extra_json_schema={"not": {"pattern": _RESERVED}},
    ),
]
LabelValue = Annotated[
    str, Meta(pattern=rf"^({_LABEL})?$", max_length=63, title="the value of a label")
]
Cpu = Annotated[
    str,
    Meta(
        pattern=r"^$|^[1-9][0-9]*m?$|^[0-9]+\.[0-9]{1,3}$",
        title="an amount of CPU like 500m",
        extra_json_schema={_OR_NUMBER: "number", "exclusiveMinimum": 0, "multipleOf": 0.001},
    ),
]
_UNIT = "([kMGT]|[KMGT]i)"
Size = Annotated[
    str,
    Meta(
        pattern=rf"^$|^[1-9][0-9]*{_UNIT}?$|^[0-9]+\.[0-9]+{_UNIT}$",
        title="a size like 512Mi",
        extra_json_schema={_OR_NUMBER: "integer", "exclusiveMinimum": 0},
    ),
]
Port = Annotated[
    int, Meta(ge=1024, le=65535, title="a port from 1024 to 65535, which needs no privilege")
]
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V4 = rf"{_BYTE}(\.{_BYTE}){{3}}/(3[0-2]|[12]?[0-9])"
_V6 = r"[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])"
Cidr = Annotated[
    str,
    Meta(pattern=rf"^({_V4}|{_V6})$", title="a network like 10.0.0.0/24"),
]
Duration = Annotated[str, Meta(pattern=r"^([0-9]+(ms|s|m|h))+$", title="a duration like 30s")]
SelectorText = Annotated[
    str,
    Meta(
        pattern=rf"^$|^{_REQUIREMENT}(,{_REQUIREMENT})*$",
        title="a label selector like env=prod,tier!=test",
    ),
]
Controller = Literal["pub", "pdb", "rbg", "disruption"]


class _Part(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Requests(_Part, frozen=True):
    cpu: Annotated[Cpu, Meta(description="CPU that a replica requests; empty for none.")] = "50m"
    memory: Annotated[Size, Meta(description="Memory that a replica requests; empty for none.")] = (
        "128Mi"
    )


class Limits(_Part, frozen=True):
    cpu: Annotated[Cpu, Meta(description="CPU limit of a replica; empty for none.")] = ""
    memory: Annotated[
        Size, Meta(description="Memory limit of a replica, by default for 50,000 pods.")
    ] = MEMORY_LIMIT


class Resources(_Part, frozen=True):
    requests: Requests = Requests()
    limits: Limits = Limits()


class Webhook(_Part, frozen=True):
    port: Annotated[
        Port,
        Meta(
            description="Port of the pods that the API server reaches. The control plane of a "
            "private GKE cluster reaches 443 and 10250 only: take 10250."
        ),
    ] = WEBHOOK_PORT
    host_network: Annotated[
        bool,
        Meta(
            description="Run in the network of the nodes: for an API server that does not reach "
            "pods (EKS with another CNI). Needs as many nodes as replicas."
        ),
    ] = False


class ServiceMonitor(_Part, frozen=True):
    enabled: Annotated[
        bool, Meta(description="Add a ServiceMonitor, for the Prometheus operator.")
    ] = False
    interval: Annotated[Duration, Meta(description="Time between two scrapes.")] = "30s"
    labels: Annotated[
        dict[OwnLabelKey, LabelValue],
        Meta(description="Labels of the ServiceMonitor, by which a Prometheus selects it."),
    ] = {}


class Metrics(_Part, frozen=True):
    port: Annotated[Port, Meta(description="Port of /metrics, /healthz and /readyz.")] = HTTP_PORT
    service_monitor: ServiceMonitor = ServiceMonitor()


class NetworkPolicy(_Part, frozen=True):
    enabled: Annotated[
        bool,
        Meta(
            description="Add a NetworkPolicy that opens the two ports only. It is left out with "
            "webhook.hostNetwork, where it has no effect."
        ),
    ] = True
    api_server_cidrs: Annotated[
        tuple[Cidr, ...],
        Meta(description="Networks that may reach the webhook port; all, if there is none."),
    ] = ()


class Log(_Part, frozen=True):
    format: Annotated[Literal["json", "text"], Meta(description="Format of log lines.")] = "json"
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="The least important log lines that are written."),
    ] = "info"


class Toleration(_Part, frozen=True):
    key: Annotated[str, Meta(pattern=rf"^({_KEY})?$", title="the key of a taint")] | UnsetType = (
        UNSET
    )
    operator: Literal["Equal", "Exists"] | UnsetType = UNSET
    value: LabelValue | UnsetType = UNSET
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | UnsetType = UNSET
    toleration_seconds: int | UnsetType = UNSET


class Settings(_Part, frozen=True, kw_only=True):
    image: Annotated[
        Image, Meta(description="Image that has the `intact` command; empty for `intact:VERSION`.")
    ] = ""
    image_pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"], Meta(description="When nodes pull the image.")
    ] = "IfNotPresent"
    image_pull_secrets: Annotated[
        tuple[Name, ...], Meta(description="Names of Secrets with which nodes pull the image.")
    ] = ()
    controllers: Annotated[
        tuple[Controller, ...],
        Meta(
            min_length=1,
            description="What to run: pub, pdb, rbg, disruption. The account gets the rights that "
            "these need, and only their CRDs are installed.",
            title="a list of controllers",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = DEFAULT_CONTROLLERS  # type: ignore[assignment] # the names, as literals
    replicas: Annotated[
        int, Meta(ge=1, le=100, title="a number from 1 to 100", description="Replicas of Intact.")
    ] = 2
    resources: Resources = Resources()
    priority_class: Annotated[
        Name,
        Meta(
            description="PriorityClass of the pods, or `none`. With `system-cluster-critical` or "
            "`system-node-critical` a ResourceQuota allows it outside kube-system, as GKE asks for."
        ),
    ] = CRITICAL[0]
    webhook: Webhook = Webhook()
    metrics: Metrics = Metrics()
    network_policy: NetworkPolicy = NetworkPolicy()
    namespace_selector: Annotated[
        SelectorText,
        Meta(
            description="Labels of the namespaces in which PodUnavailableBudgets hold pods, such "
            "as `env=prod`; empty for all."
        ),
    ] = ""
    log: Log = Log()
    labels: Annotated[
        dict[OwnLabelKey, LabelValue], Meta(description="Labels that every object gets as well.")
    ] = {}
    node_selector: Annotated[
        dict[LabelKey, LabelValue], Meta(description="Labels of the nodes to run on.")
    ] = {}
    tolerations: Annotated[
        tuple[Toleration, ...], Meta(description="Tolerations of the pods, as in a pod.")
    ] = ()


class BadSetting(ValueError):
    """A value that cannot be: which one, and why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises `BadSetting`."""
    given = _plain(given, schema())
    try:
        found = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise _told(given, str(error)) from None
    _check_together(found)
    return found


def _plain(given: Any, node: Json) -> Any:
    """For helm, null takes a value away with its default: what can be empty then is. An amount may
    be a number."""
    parts = node.get("properties")
    if given is None:
        return empty(node)
    if isinstance(node.get("type"), list) and type(given) in (int, float):
        return str(given).removesuffix(".0")
    if not isinstance(given, Mapping) or parts is None:
        return given
    return {name: _plain(each, parts.get(name, {})) for name, each in given.items()}


def empty(node: Json) -> Any:
    """The value of a setting, or of a group of them, that stands for none. None if it needs one."""
    if parts := node.get("properties"):
        found = {name: empty(each) for name, each in parts.items()}
        return None if None in found.values() else found
    if node.get("type") == "object":
        return {}
    if node.get("type") == "array":
        return None if node.get("minItems") else []
    pattern = node.get("pattern")
    return "" if pattern and re.search(pattern, "") else None


def _check_together(settings: Settings) -> None:
    if len(set(settings.controllers)) < len(settings.controllers):
        raise BadSetting("controllers", f"{', '.join(settings.controllers)} has one of them twice")
    for cidr in settings.network_policy.api_server_cidrs:
        try:
            ipaddress.ip_network(cidr, strict=False)  # as the API server
        except ValueError as error:
            raise BadSetting("networkPolicy.apiServerCidrs", str(error)) from None
    monitor = settings.metrics.service_monitor
    for path, labels in (
        ("labels", settings.labels),
        ("metrics.serviceMonitor.labels", monitor.labels),
    ):
        for key in labels:
            if re.search(_RESERVED, key):
                raise BadSetting(path, f"{key!r} is not {_OWN_KEY}")
    for path, problem in check_selector(parse_selector(settings.namespace_selector)):
        raise BadSetting("namespaceSelector", f"{path}: {problem}")
    port = settings.webhook.port
    if port == settings.metrics.port:
        raise BadSetting("webhook.port", f"{port} is also metrics.port")
    for path, each in (("webhook.port", port), ("metrics.port", settings.metrics.port)):
        if settings.webhook.host_network and each == KUBELET_PORT:
            raise BadSetting(path, f"{each} is the kubelet's port in the network of the nodes")


def _told(given: Mapping[str, Any], error: str) -> BadSetting:
    """With the value and, where the type has one, a description of what it should be."""
    problem, _, where = error.partition(" - at ")
    place = where.rpartition("`$.")[2].rstrip("`")
    path = re.sub(r"\[.*\]", "", place)
    if "unknown field" in problem or not place:
        return BadSetting(path, problem)
    node, value = _node(path), _value(given, place)
    if isinstance(value, list) and "items" not in problem and "length" in problem:
        return BadSetting(path, "is empty")
    if place.endswith("]"):
        node = node.get("items") or node.get("additionalProperties") or {}
    if where.startswith("`key`"):
        names = node["propertyNames"]
        bad = [key for key in value if not re.search(names["pattern"], key)]
        return BadSetting(path, f"{', '.join(map(repr, bad))} is not {names['title']}")
    if isinstance(value, Mapping) and place.endswith("[...]"):
        value = next(each for each in value.values() if not _fits(each, node))
    if choices := node.get("enum"):
        return BadSetting(path, f"{value!r} is not one of {', '.join(map(str, choices))}")
    title = node.get("title")
    return BadSetting(path, f"{value!r} is not {title}" if title else f"{value!r}: {problem}")


def _fits(text: Any, node: Json) -> bool:
    if not isinstance(text, str) or len(text) > node.get("maxLength", len(text)):
        return False
    return re.search(node.get("pattern", ""), text) is not None


def _value(given: Any, place: str) -> Any:
    for step in re.findall(r"[^.\[\]]+", place):
        if isinstance(given, Mapping):
            given = given.get(step) if step != "..." else next(iter(given.values()), None)
        elif isinstance(given, list | tuple) and step.isdigit():
            given = given[int(step)]
        else:
            return given
    return given


def _node(path: str) -> Json:
    node = schema()
    for step in path.split("."):
        node = node.get("properties", {}).get(step) or node.get("items", {}).get(
            "properties", {}
        ).get(step, {})
    return node


def schema() -> Json:
    """The JSON Schema of the settings, without references."""
    whole = msgspec.json.schema(Settings)
    definitions = whole["$defs"]

    def resolved(node: Any) -> Any:
        if isinstance(node, list):
            return [resolved(each) for each in node]
        if not isinstance(node, dict):
            return node
        if reference := node.get("$ref"):
            found = resolved(definitions[reference.rpartition("/")[2]])
            del found["title"]
            return found
        made = {key: resolved(value) for key, value in node.items() if key != "required"}
        if number := made.pop(_OR_NUMBER, ""):
            made["type"] = [made["type"], number]
        return made

    found: Json = resolved(definitions["Settings"])
    del found["title"]
    return found


def defaults() -> Json:
    found: Json = msgspec.to_builtins(Settings(), builtin_types=())
    return found


def leaves(node: Json | None = None, prefix: str = "") -> list[tuple[str, Json]]:
    """Every single setting, by its path, with its part of the schema."""
    found: list[tuple[str, Json]] = []
    for name, each in (node or schema())["properties"].items():
        if "properties" in each:
            found += leaves(each, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", each))
    return found
