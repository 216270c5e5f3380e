"""What the chart renders is what `intact manifests` prints, for every value. No cluster is needed,
only helm."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from intact.cli.main import main
from intact.operator.install.labels import MANAGED_BY
from intact.operator.install.manifests import manifests
from intact.operator.install.rbac import UNINSTALL_RULES, uninstall_own_rules
from intact.operator.install.settings import leaves, read_settings
from tests.support.helm import CHART, Helm, HelmError

Json = dict[str, Any]
HOOK = "helm.sh/hook"

OTHER: dict[str, list[Any]] = {
    "image": ["registry.example.test/intact@sha256:0a", "intact:1"],
    "imagePullPolicy": ["Always", "Never"],
    "imagePullSecrets": [["one"], ["one", "two.three"]],
    "controllers": [["pub"], ["pdb"], ["rbg"], ["disruption"], ["rbg", "pub"], ["pdb", "pub"]],
    "replicas": [1, 5],
    "resources.requests.cpu": ["", "1", "0.5", 0.25],
    "resources.requests.memory": ["", "1Gi", 200_000_000],
    "resources.limits.cpu": ["2", "500m", 2],
    "resources.limits.memory": ["", "1000000", "1.5Gi", 2**31],
    "priorityClass": ["none", "system-node-critical", "high"],
    "webhook.port": [10250, 8443],
    "webhook.hostNetwork": [True],
    "metrics.port": [9090],
    "metrics.serviceMonitor.enabled": [True],
    "metrics.serviceMonitor.interval": ["1m30s"],
    "metrics.serviceMonitor.labels": [{"release": "prometheus"}, {"team": "other", "a": "1"}],
    "networkPolicy.enabled": [False],
    "networkPolicy.apiServerCidrs": [
        ["10.0.0.0/8"],
        ["fd00::/8", "192.168.0.1/32"],
        ["10.1.2.3/8"],
    ],
    "namespaceSelector": ["env=prod", "env in (a, b),!old", "x!=true", "true"],
    "log.format": ["text"],
    "log.level": ["debug", "error"],
    "labels": [{"team": "on", "example.test/cost": "1e3"}],
    "nodeSelector": [{"node-role.kubernetes.io/control-plane": "", "a": "true"}],
    "tolerations": [
        [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
        [{"operator": "Exists"}, {"key": "b", "value": "1", "tolerationSeconds": 30}],
    ],
}
"""Values other than the default."""


def nested(given: dict[str, Any]) -> Json:
    found: Json = {}
    for path, value in given.items():
        *parents, last = path.split(".")
        place = found
        for each in parents:
            place = place.setdefault(each, {})
        place[last] = value
    return found


@pytest.fixture(scope="module")
def helm() -> Helm:
    return Helm()


def of_chart(helm: Helm, values: Json, namespace: str = "intact-system") -> list[Json]:
    """Without what only helm needs: the hooks, its labels, and the policy by which CRDs stay."""
    found = []
    for each in helm.template(values, namespace=namespace):
        meta = each["metadata"]
        annotations = meta.get("annotations", {})
        if HOOK in annotations:
            continue
        if annotations.pop("helm.sh/resource-policy", "") == "keep":
            assert each["kind"] == "CustomResourceDefinition"
            if not annotations:
                del meta["annotations"]
        metas = [meta]
        if each["kind"] == "Deployment":
            metas.append(each["spec"]["template"]["metadata"])
        for labels in (one["labels"] for one in metas):
            assert labels[MANAGED_BY] == "Helm"
            labels[MANAGED_BY] = "intact"
            assert labels.pop("helm.sh/chart").startswith("intact-")
        found.append(each)
    return found


def by_name(objects: list[Json]) -> dict[tuple[str, str, str], Json]:
    """None may be there twice. helm creates the namespace itself."""
    others = [each for each in objects if each["kind"] != "Namespace"]
    found = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
        for each in others
    }
    assert len(found) == len(others)
    return found


def assert_equal(helm: Helm, values: Json, namespace: str = "intact-system") -> None:
    made = by_name(manifests(read_settings(values), namespace=namespace))
    rendered = by_name(of_chart(helm, values, namespace))
    assert rendered.keys() == made.keys()
    for key, each in made.items():
        assert rendered[key] == each, key


def test_every_value_has_another() -> None:
    assert OTHER.keys() == {path for path, _ in leaves()}


def test_the_defaults_are_equal(helm: Helm) -> None:
    assert_equal(helm, {})
    assert_equal(helm, {}, "another")
    assert_equal(helm, {}, "kube-system")


LIKE_NUMBERS = ("123", "1e3", "08", "0x1f", "true", "null", "y")


@pytest.mark.parametrize("name", LIKE_NUMBERS)
def test_names_and_labels_that_look_like_something_else_are_texts(helm: Helm, name: str) -> None:
    given = {"labels": {"a": name}, "nodeSelector": {"a": name}, "priorityClass": name}
    assert_equal(helm, given, name)


@pytest.mark.parametrize("name", LIKE_NUMBERS)
def test_so_are_names_of_releases(helm: Helm, name: str) -> None:
    for each in helm.template({}, name=name):
        assert each["metadata"]["labels"]["app.kubernetes.io/instance"] == name


@pytest.mark.parametrize("path", OTHER)
def test_each_value_alone_is_equal(helm: Helm, path: str) -> None:
    before = by_name(manifests(read_settings({})))
    for value in OTHER[path]:
        given = {path: value}
        if path.startswith("metrics.serviceMonitor."):
            given["metrics.serviceMonitor.enabled"] = True
        assert_equal(helm, nested(given))
        assert by_name(manifests(read_settings(nested(given)))) != before


@pytest.mark.parametrize("seed", range(25))
def test_values_together_are_equal(helm: Helm, seed: int) -> None:
    choice = random.Random(seed)
    chosen = choice.sample(sorted(OTHER), choice.randint(2, len(OTHER)))
    given = {path: choice.choice(OTHER[path]) for path in chosen}
    if given.get("webhook.port") == 10250:
        given.pop("webhook.hostNetwork", None)
    assert_equal(helm, nested(given))


def test_the_command_takes_the_file_of_the_chart() -> None:
    ran = CliRunner().invoke(main, ["manifests", "--values", str(CHART / "values.yaml")])
    assert ran.exit_code == 0
    assert ran.output == CliRunner().invoke(main, ["manifests"]).output


BAD: list[tuple[str, Any]] = [
    ("image", "a b"),
    ("imagePullPolicy", "Sometimes"),
    ("imagePullSecrets", ["Upper"]),
    ("imagePullSecrets", [{"name": "one"}]),
    ("controllers", ["pub", "none"]),
    ("controllers", []),
    ("controllers", ["pub", "pub"]),
    ("replicas", 0),
    ("replicas", "two"),
    ("resources.requests.cpu", "much"),
    ("resources.requests.memory", "1 Gi"),
    ("resources.limits.cpu", 0),
    ("resources.limits.cpu", -1),
    ("resources.limits.cpu", True),
    ("resources.limits.memory", "512mb"),
    ("resources.limits.memory", "0.5"),
    ("resources.limits.memory", 0.5),
    ("priorityClass", "High"),
    ("webhook.port", 443),
    ("webhook.hostNetwork", "no"),
    ("metrics.port", 70000),
    ("metrics.serviceMonitor.enabled", 1),
    ("metrics.serviceMonitor.interval", "soon"),
    ("metrics.serviceMonitor.labels", {"app.kubernetes.io/name": "x"}),
    ("networkPolicy.enabled", "yes"),
    ("networkPolicy.apiServerCidrs", ["10.0.0.1"]),
    ("networkPolicy.apiServerCidrs", ["10.0.0.0/33"]),
    ("networkPolicy.apiServerCidrs", ["10.0.256.0/24"]),
    ("networkPolicy.apiServerCidrs", ["fd00::/129"]),
    ("namespaceSelector", "env=prod,"),
    ("namespaceSelector", f"env={'a' * 64}"),
    ("namespaceSelector", f"!{'a' * 64}"),
    ("log.format", "xml"),
    ("log.level", "loud"),
    ("labels", {"a b": "c"}),
    ("labels", {"a" * 64: "c"}),
    ("labels", {"helm.sh/chart": "c"}),
    ("nodeSelector", {"a": "b c"}),
    ("nodeSelector", {f"example.test/{'a' * 64}": "b"}),
    ("tolerations", [{"effect": "NoWork"}]),
    ("tolerations", [{"key": "a b", "operator": "Exists"}]),
    ("tolerations", [{"key": "a", "value": "b c"}]),
    ("typo", 1),
    ("webhook.typo", 1),
]


MAY_BE_NULL = {
    "image",
    "imagePullSecrets",
    "resources",
    "resources.requests",
    "resources.requests.cpu",
    "resources.requests.memory",
    "resources.limits",
    "resources.limits.cpu",
    "resources.limits.memory",
    "metrics.serviceMonitor.labels",
    "networkPolicy.apiServerCidrs",
    "namespaceSelector",
    "labels",
    "nodeSelector",
    "tolerations",
}
"""Then it is empty: helm takes a value that is null away, with its default."""
_SECTIONS = {path.rpartition(".")[0] for path, _ in leaves()} | {"metrics"}
BAD += [
    (path, None)
    for path in sorted({path for path, _ in leaves()} | _SECTIONS - {""})
    if path not in MAY_BE_NULL
]


@pytest.mark.parametrize("path", sorted(MAY_BE_NULL))
def test_a_value_that_is_null_is_empty(helm: Helm, path: str) -> None:
    given: Json = {path: None}
    if path.startswith("metrics.serviceMonitor."):
        given["metrics.serviceMonitor.enabled"] = True
    assert_equal(helm, nested(given))


def test_every_value_has_a_bad_one() -> None:
    assert {path for path, value in BAD if value is not None} >= {path for path, _ in leaves()}


@pytest.mark.parametrize(("path", "value"), BAD)
def test_both_refuse_a_bad_value_and_name_it(
    helm: Helm, path: str, value: Any, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(nested({path: value})))
    ran = CliRunner().invoke(main, ["manifests", "--values", str(file)])
    assert ran.exit_code == 2
    last = path.rpartition(".")[2]
    assert last in ran.output.splitlines()[-1]
    with pytest.raises(HelmError) as error:
        helm.template(nested({path: value}))
    assert last in str(error.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"metrics": {"port": 9443}}, "webhook.port: 9443 is also metrics.port"),
        ({"webhook": {"port": 10250, "hostNetwork": True}}, "webhook.port: 10250 is the kubelet's"),
        (
            {"webhook": {"hostNetwork": True}, "metrics": {"port": 10250}},
            "metrics.port: 10250 is the kubelet's",
        ),
    ],
)
def test_both_refuse_values_that_do_not_go_together(
    helm: Helm, values: Json, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))
    ran = CliRunner().invoke(main, ["manifests", "--values", str(file)])
    assert ran.exit_code == 2
    assert said in ran.output
    with pytest.raises(HelmError, match=said):
        helm.template(values)


def test_helm_finds_nothing_to_complain_of(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)


def test_the_hook_has_an_account_of_its_own_and_runs_the_uninstall(helm: Helm) -> None:
    values = {"image": "intact:1", "nodeSelector": {"a": "b"}, "imagePullSecrets": ["one"]}
    hooks = {
        each["kind"]: each
        for each in helm.template(values, namespace="home")
        if HOOK in each["metadata"].get("annotations", {})
    }
    names = {each["metadata"]["name"] for each in hooks.values()}
    assert names == {"intact-uninstall"}
    assert {each["metadata"]["annotations"][HOOK] for each in hooks.values()} == {"pre-delete"}
    assert hooks["ClusterRole"]["rules"] == UNINSTALL_RULES
    assert hooks["Role"]["rules"] == uninstall_own_rules()
    pod = hooks["Job"]["spec"]["template"]
    # Otherwise the Services, the budget and the uninstall itself would take it for Intact.
    assert pod["metadata"]["labels"]["app.kubernetes.io/name"] == "intact-uninstall"
    assert pod["spec"]["serviceAccountName"] == "intact-uninstall"
    assert pod["spec"]["nodeSelector"] == {"a": "b"}
    assert pod["spec"]["imagePullSecrets"] == [{"name": "one"}]
    [container] = pod["spec"]["containers"]
    assert container["image"] == "intact:1"
    assert container["args"] == ["uninstall", "--yes", "--leave-to-helm", "--namespace=home"]
