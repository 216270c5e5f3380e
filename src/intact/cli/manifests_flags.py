"""The flags of `intact manifests`: one for each setting of an installation."""

from collections.abc import Mapping
from typing import Any

import click

FLAGS = {
    "image": "--image",
    "imagePullPolicy": "--image-pull-policy",
    "imagePullSecrets": "--image-pull-secret",
    "controllers": "--controllers",
    "replicas": "--replicas",
    "resources.requests.cpu": "--cpu-request",
    "resources.requests.memory": "--memory-request",
    "resources.limits.cpu": "--cpu-limit",
    "resources.limits.memory": "--memory-limit",
    "priorityClass": "--priority-class",
    "webhook.port": "--webhook-port",
    "webhook.hostNetwork": "--host-network",
    "metrics.port": "--metrics-port",
    "metrics.serviceMonitor.enabled": "--service-monitor",
    "metrics.serviceMonitor.interval": "--service-monitor-interval",
    "metrics.serviceMonitor.labels": "--service-monitor-label",
    "networkPolicy.enabled": "--network-policy",
    "networkPolicy.apiServerCidrs": "--api-server-cidr",
    "namespaceSelector": "--namespace-selector",
    "log.format": "--log-format",
    "log.level": "--log-level",
    "labels": "--label",
    "nodeSelector": "--node-selector",
    "tolerations": "--toleration",
}
"""The flag of each value of the chart."""
_METAVARS = {
    "image": "IMAGE",
    "controllers": "LIST",
    "webhook.port": "PORT",
    "metrics.port": "PORT",
    "replicas": "N",
    "resources.requests.cpu": "CPU",
    "resources.limits.cpu": "CPU",
    "resources.requests.memory": "SIZE",
    "resources.limits.memory": "SIZE",
    "networkPolicy.apiServerCidrs": "CIDR",
    "namespaceSelector": "SELECTOR",
    "metrics.serviceMonitor.interval": "TIME",
    "tolerations": "KEY[=VALUE][:EFFECT]",
}
_MAY_BE_REPEATED = " May be repeated."


class SettingsCommand(click.Command):
    """A command that takes all flags. They are made of the settings when they are asked for: other
    commands must not wait for that."""

    _own: list[click.Parameter]
    _all: list[click.Parameter] | None = None

    @property
    def params(self) -> list[click.Parameter]:
        if self._all is None:
            self._all = [*self._own, *_options()]
        return self._all

    @params.setter
    def params(self, given: list[click.Parameter]) -> None:
        self._own = given


def _options() -> list[click.Option]:
    from intact.operator.install.settings import leaves

    return [_option(path, node) for path, node in leaves()]


def _option(path: str, node: Mapping[str, Any]) -> click.Option:
    flag, text = FLAGS[path], str(node["description"])
    name = _parameter(path)
    if node.get("type") == "boolean":
        negated = flag.replace("--", "--no-", 1)
        return click.Option([f"{flag}/{negated}", name], default=None, help=text)
    if path == "controllers":
        text = text.replace("What to run:", "What to run, separated by commas:")
    repeated = path != "controllers" and node.get("type") in ("array", "object")
    metavar = "KEY=VALUE" if node.get("type") == "object" else _METAVARS.get(path, "NAME")
    if choices := node.get("enum"):
        metavar = "|".join(choices)
    return click.Option(
        [flag, name],
        multiple=repeated,
        metavar=metavar,
        help=text + (_MAY_BE_REPEATED if repeated else ""),
    )


def _parameter(path: str) -> str:
    return path.replace(".", "_").lower()


def given_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What the flags set, as the chart's values. Raises `click.UsageError`."""
    from intact.operator.install.settings import leaves

    found: dict[str, Any] = {}
    for path, node in leaves():
        value = parameters[_parameter(path)]
        if value is None or value == ():
            continue
        *parents, last = path.split(".")
        place = found
        for each in parents:
            place = place.setdefault(each, {})
        place[last] = _read(path, node, value)
    return found


def _read(path: str, node: Mapping[str, Any], value: Any) -> Any:
    if path == "tolerations":
        return [_toleration(each) for each in value]
    if path == "controllers":
        return [name.strip() for name in value.split(",") if name.strip()]
    if node.get("type") == "object":
        return dict(_pair(FLAGS[path], each) for each in value)
    if node.get("type") == "array":
        return list(value)
    if node.get("type") == "integer" and value.isdecimal():
        return int(value)
    return value


def _pair(flag: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.UsageError(f"{flag} {text!r} is not KEY=VALUE")
    return key, value


def _toleration(text: str) -> dict[str, str]:
    """As kubectl writes a taint; without a value, every value of the key is tolerated."""
    rest, _, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    if not key:
        raise click.UsageError(f"--toleration {text!r} is not KEY[=VALUE][:EFFECT]")
    found = {"key": key}
    found |= {"operator": "Equal", "value": value} if equals else {"operator": "Exists"}
    return found | ({"effect": effect} if effect else {})
