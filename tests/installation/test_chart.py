"""The chart on a real cluster, with a real helm: install, upgrade, rollback, uninstall.

The pods of the chart, its hook's among them, run on a node that runs them as processes, with tokens
of their own accounts: see `process_kubelet`.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from devcluster.cluster import Cluster
from devcluster.errors import ApiError
from devcluster.waiting import wait_for
from intact.operator.install.crds import definitions
from intact.operator.webhook.configuration import GATED_LABEL
from tests.support.helm import CHART, Helm, HelmError
from tests.support.kubectl import Kubectl
from tests.support.process_kubelet import TAINT, ProcessKubelet
from tests.support.pub_cases import budget, target
from tests.support.rbg_objects import group, role

Json = dict[str, Any]
HOME = "intact-system"
WAIT = ("--wait", "--timeout=2m")
WORK = "work"
SHARD = "shard"
BEFORE = Path(__file__).parents[1] / "support/manifests_before_the_chart.yaml"
REGISTRATIONS = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
EVERYTHING = (
    "deployments,replicasets,pods,jobs,services,secrets,leases,serviceaccounts,roles,rolebindings,"
    "networkpolicies,poddisruptionbudgets,resourcequotas"
)
CLUSTER_WIDE = f"clusterroles,clusterrolebindings,{REGISTRATIONS}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """All that is in it is of these tests: names of the chart are those of the whole cluster."""
    with Cluster(nodes=2) as found:
        yield found


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster)


@pytest.fixture
def helm(cluster: Cluster) -> Helm:
    return Helm(cluster.kubeconfig)


@pytest.fixture
def kubelet(cluster: Cluster) -> Iterator[ProcessKubelet]:
    with ProcessKubelet(cluster) as found:
        yield found


def values(**more: Any) -> Json:
    found = {
        "image": "example.test/intact:1",
        "nodeSelector": {"kubernetes.io/hostname": "processes"},
        "tolerations": [{"key": TAINT, "operator": "Exists"}],
    }
    return found | more


@pytest.fixture
def home(kubectl: Kubectl, cluster: Cluster) -> Iterator[str]:
    """The namespace that Intact is installed into, at Pod Security's strictest level."""
    kubectl("create", "namespace", HOME)
    kubectl("label", "namespace", HOME, "pod-security.kubernetes.io/enforce=restricted")
    yield HOME
    forget(cluster, kubectl)


def forget(cluster: Cluster, kubectl: Kubectl) -> None:
    """Whatever a test has left, also one that failed in between."""
    for namespace in (HOME, WORK):
        kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
    kubectl("delete", REGISTRATIONS, "intact", "--ignore-not-found")
    kubectl("delete", CLUSTER_WIDE, "-l", "app.kubernetes.io/part-of=intact", "--ignore-not-found")
    kubectl("delete", "crd", "-l", "app.kubernetes.io/name=intact", "--ignore-not-found")
    wait_for(
        lambda: not kubectl.names("namespace", HOME, WORK), "the namespaces to go", timeout=120
    )


@pytest.fixture
def release(helm: Helm, home: str, kubelet: ProcessKubelet) -> str:
    """The chart, installed, with a leader that has registered its webhooks."""
    helm("install", "intact", CHART, "-n", home, *WAIT, values=values())
    return "intact"


class Work:
    """A namespace with every kind of object that Intact holds."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        kubectl("create", "namespace", WORK)

    def make(self) -> None:
        kubectl = self._kubectl
        kubectl("create", "deployment", "web", "--image=x", "--replicas=3", "-n", WORK)
        self._apply(group("llm", role("engine", 2)))
        self._apply(_shard())
        wait_for(lambda: len(self.pods()) == 9, "all pods", timeout=120)
        self._apply(budget(target()))
        self._apply(_budget_in_groups())
        self.until_held()

    def _apply(self, one: Json) -> None:
        self._kubectl("apply", "-n", WORK, "-f", "-", stdin=json.dumps(one))

    def until_held(self) -> None:
        wait_for(lambda: self.working() == ("True", "Gated"), "the budget to hold", timeout=120)
        wait_for(
            lambda: self.get("pdb", "shards")["status"].get("disruptionsAllowed") == 4,
            "the budget in groups to be counted",
        )

    def get(self, kind: str, name: str) -> Json:
        found: Json = json.loads(self._kubectl("get", kind, name, "-n", WORK, "-o", "json"))
        return found

    def working(self) -> tuple[str, str]:
        conditions = self.get("pub", "budget").get("status", {}).get("conditions", [])
        found = [
            (each["status"], each["reason"]) for each in conditions if each["type"] == "Working"
        ]
        return found[0] if found else ("", "")

    def pods(self) -> dict[str, str]:
        """Those that are ready, by name, with their UIDs."""
        found = json.loads(self._kubectl("get", "pods", "-n", WORK, "-o", "json"))["items"]
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in found
            if any(
                each["type"] == "Ready" and each["status"] == "True"
                for each in pod["status"].get("conditions", [])
            )
        }


def _shard() -> Json:
    labels = {SHARD: "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "shard-a"},
        "spec": {
            "replicas": 4,
            "serviceName": "shard",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "x"}]},
            },
        },
    }


def _budget_in_groups() -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": "shards",
            "labels": {"intact.dev/budget-scope": "Workload"},
            "annotations": {
                "intact.dev/group-label-key": SHARD,
                "intact.dev/min-ready-replicas": "4",
            },
        },
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchExpressions": [{"key": SHARD, "operator": "Exists"}]},
        },
    }


@pytest.fixture
def work(release: str, kubectl: Kubectl) -> Work:
    found = Work(kubectl)
    found.make()
    return found


def delete_pod(cluster: Cluster, name: str) -> int:
    """The answer's code."""
    try:
        cluster.api.delete(f"/api/v1/namespaces/{WORK}/pods/{name}")
    except ApiError as error:
        return error.status
    return 200


def web(work: Work) -> list[str]:
    return [name for name in work.pods() if name.startswith("web-")]


def test_an_installed_chart_holds_budgets_with_the_rights_that_it_gives(
    cluster: Cluster, kubelet: ProcessKubelet, work: Work
) -> None:
    one, two, _ = web(work)
    assert [delete_pod(cluster, one), delete_pod(cluster, two)] == [200, 429]
    assert len(kubelet.logs) == 2
    lines = [line for log in kubelet.logs.values() for line in log.splitlines()]
    assert [line for line in lines if "forbidden" in line] == []


def test_a_budget_outside_of_the_selected_namespaces_says_that_it_holds_nothing(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, home: str, kubelet: ProcessKubelet
) -> None:
    given = values(namespaceSelector="env=prod", replicas=1)
    helm("install", "intact", CHART, "-n", home, *WAIT, values=given)
    work = Work(kubectl)
    kubectl("create", "deployment", "web", "--image=x", "--replicas=3", "-n", WORK)
    wait_for(lambda: len(work.pods()) == 3, "all pods", timeout=120)
    # It is created, with a warning.
    with pytest.raises(AssertionError, match=r"Warning: .* --namespace-selector"):
        kubectl("create", "-n", WORK, "-f", "-", stdin=json.dumps(budget(target())))
    wait_for(lambda: work.working() == ("False", "NotSelected"), "the condition")
    assert [delete_pod(cluster, name) for name in web(work)] == [200, 200, 200]
    kubectl("label", "namespace", WORK, "env=prod")
    wait_for(lambda: work.working() == ("True", "Gated"), "the budget to hold")
    wait_for(lambda: len(work.pods()) == 3, "new pods")
    wait_for(lambda: work.get("pub", "budget")["status"]["unavailableAllowed"] == 1, "the count")
    one, two, _ = web(work)
    assert [delete_pod(cluster, one), delete_pod(cluster, two)] == [200, 429]


def test_uninstall_leaves_no_registration_and_takes_neither_budgets_nor_workloads(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, kubelet: ProcessKubelet, work: Work
) -> None:
    pods = work.pods()
    defined = kubectl.names("crd")
    helm("uninstall", "intact", "-n", HOME, *WAIT)
    [ran] = [command for command in kubelet.ran if command[1] == "uninstall"]
    assert ran == ["intact", "uninstall", "--yes", "--leave-to-helm", f"--namespace={HOME}"]

    assert kubectl.names(REGISTRATIONS) == []
    assert kubectl.names("namespaces", "-l", GATED_LABEL) == []
    assert kubectl.names("namespaces", "-l", "intact.dev/door") == []
    left = kubectl.names(EVERYTHING, "-n", HOME)
    assert left == ["serviceaccount/default"]
    assert [name for name in kubectl.names(CLUSTER_WIDE) if "intact" in name] == []
    assert kubectl.names("crd") == defined

    assert work.pods() == pods
    assert work.working() == ("False", "Uninstalled")
    assert kubectl.names("rbg", "-n", WORK) == ["rolebasedgroup.workloads.x-k8s.io/llm"]
    # The stock controller counts pods: one of four.
    wait_for(
        lambda: work.get("pdb", "shards")["status"]["disruptionsAllowed"] == 1, "the count in pods"
    )
    assert [delete_pod(cluster, name) for name in web(work)] == [200, 200, 200]


def test_it_can_be_installed_again_and_finds_its_definitions_and_budgets(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, work: Work
) -> None:
    helm("uninstall", "intact", "-n", HOME, *WAIT)
    helm("install", "intact", CHART, "-n", HOME, *WAIT, values=values())
    work.until_held()
    one, two, _ = web(work)
    assert [delete_pod(cluster, one), delete_pod(cluster, two)] == [200, 429]


def test_a_hook_that_fails_keeps_helm_from_uninstalling(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, kubelet: ProcessKubelet, work: Work
) -> None:
    kubelet.fail_jobs(fail=True)
    with pytest.raises(HelmError, match="intact-uninstall"):
        helm("uninstall", "intact", "-n", HOME, *WAIT)
    assert kubectl.names("deployment", "-n", HOME) == ["deployment.apps/intact"]
    assert work.working() == ("True", "Gated")
    kubelet.fail_jobs(fail=False)
    helm("uninstall", "intact", "-n", HOME, *WAIT)
    assert kubectl.names(REGISTRATIONS) == []


def other_version(directory: Path) -> Path:
    """The same chart, as a later release."""
    found = directory / "chart"
    shutil.copytree(CHART, found)
    text = (found / "Chart.yaml").read_text()
    lines = [
        f"{line.partition(':')[0]}: 0.99.0" if line.startswith(("version", "appVersion")) else line
        for line in text.splitlines()
    ]
    (found / "Chart.yaml").write_text("\n".join(lines))
    crd = found / "files/crds/podunavailablebudgets.yaml"
    definition = msgspec.yaml.decode(crd.read_bytes())
    definition["spec"]["names"]["categories"] = ["later"]
    crd.write_bytes(msgspec.yaml.encode(definition))
    return found


def deployed(kubectl: Kubectl) -> Json:
    found: Json = json.loads(kubectl("get", "deployment", "intact", "-n", HOME, "-o", "json"))
    return found


def categories(kubectl: Kubectl) -> list[str]:
    name = "podunavailablebudgets.policy.kruise.io"
    found = json.loads(kubectl("get", "crd", name, "-o", "json"))
    return list(found["spec"]["names"].get("categories", []))


def test_an_upgrade_brings_the_definitions_and_a_rollback_takes_them_back(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, work: Work, tmp_path: Path
) -> None:
    pods, before = work.pods(), categories(kubectl)
    later = other_version(tmp_path)
    given = values(replicas=1, labels={"team": "infra"}, log={"level": "debug"})
    helm("upgrade", "intact", later, "-n", HOME, *WAIT, values=given)
    assert categories(kubectl) == ["later"]
    found = deployed(kubectl)
    assert found["metadata"]["labels"]["app.kubernetes.io/version"] == "0.99.0"
    assert found["metadata"]["labels"]["team"] == "infra"
    assert found["spec"]["replicas"] == 1
    wait_for(lambda: work.working() == ("True", "Gated"), "the budget to hold")
    assert work.pods() == pods

    helm("rollback", "intact", "1", "-n", HOME, *WAIT)
    assert categories(kubectl) == before
    found = deployed(kubectl)
    assert found["spec"]["replicas"] == 2
    assert "team" not in found["metadata"]["labels"]
    wait_for(lambda: work.working() == ("True", "Gated"), "the budget to hold")
    assert work.pods() == pods
    one, two, _ = web(work)
    assert [delete_pod(cluster, one), delete_pod(cluster, two)] == [200, 429]


def test_without_a_controller_its_definition_and_objects_stay(
    kubectl: Kubectl, helm: Helm, work: Work
) -> None:
    pods, defined = work.pods(), kubectl.names("crd")
    for controllers in (["pub", "pdb"], ["pub", "pdb", "rbg"]):
        given = values(controllers=controllers)
        helm("upgrade", "intact", CHART, "-n", HOME, *WAIT, values=given)
        assert kubectl.names("crd") == defined
        assert kubectl.names("rbg", "-n", WORK) == ["rolebasedgroup.workloads.x-k8s.io/llm"]
        assert work.pods() == pods


def test_helm_takes_over_what_was_applied_before_there_was_a_chart(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, kubelet: ProcessKubelet
) -> None:
    kubectl("apply", "--server-side", "-f", str(BEFORE))
    wanted = {}
    for definition in definitions():
        names = definition["spec"]["names"]
        wanted[definition["metadata"]["name"]] = names.get("shortNames")
        names["shortNames"] = [f"old{names['singular'][:12]}"]
        kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(definition))
    try:
        before = deployed(kubectl)
        with pytest.raises(HelmError, match="invalid ownership metadata"):
            helm("install", "intact", CHART, "-n", HOME, values=values())
        helm(
            *("upgrade", "--install", "intact", CHART, "-n", HOME),
            *("--take-ownership", *WAIT),
            values=values(),
        )
        after = deployed(kubectl)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["spec"]["selector"] == before["spec"]["selector"]
        assert after["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        found = json.loads(kubectl("get", "crd", "-o", "json"))["items"]
        assert {
            each["metadata"]["name"]: each["spec"]["names"].get("shortNames") for each in found
        } == wanted
        work = Work(kubectl)
        work.make()
        helm("uninstall", "intact", "-n", HOME, *WAIT)
        assert kubectl.names(REGISTRATIONS) == []
        assert kubectl.names("deployments,services", "-n", HOME) == []
    finally:
        forget(cluster, kubectl)


def test_the_definition_of_another_product_is_left_alone(
    cluster: Cluster, kubectl: Kubectl, helm: Helm, home: str
) -> None:
    [theirs] = [one for one in definitions() if one["metadata"]["name"].startswith("podun")]
    del theirs["metadata"]["labels"]
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(theirs))
    name = theirs["metadata"]["name"]
    try:
        for options in ((), ("--take-ownership",)):
            with pytest.raises(HelmError, match=f"{name}, which Intact did not install"):
                helm("install", "intact", CHART, "-n", home, *options, values=values())
        assert kubectl.names("deployments", "-n", home) == []
    finally:
        kubectl("delete", "crd", name)


_RULE_OF_GKE = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [
        {
            "name": "ResourceQuota",
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "ResourceQuotaConfiguration",
                "limitedResources": [
                    {
                        "resource": "pods",
                        "matchScopes": [
                            {
                                "scopeName": "PriorityClass",
                                "operator": "In",
                                "values": ["system-node-critical", "system-cluster-critical"],
                            }
                        ],
                    }
                ],
            },
        }
    ],
}


def available(kubectl: Kubectl) -> int:
    return int(deployed(kubectl)["status"].get("availableReplicas", 0))


def test_pods_start_where_critical_pods_need_a_quota(tmp_path: Path) -> None:
    file = tmp_path / "admission.yaml"
    file.write_bytes(msgspec.yaml.encode(_RULE_OF_GKE))
    flags = {"kube-apiserver": [f"--admission-control-config-file={file}"]}
    with Cluster(nodes=2, flags=flags) as cluster:
        kubectl, helm = Kubectl(cluster), Helm(cluster.kubeconfig)
        kubectl("apply", "--server-side", "-f", str(BEFORE))

        def refused() -> bool:
            events = kubectl("get", "events", "-n", HOME, "-o", "json")
            return "insufficient quota to match these scopes" in events

        wait_for(refused, "the API server to refuse pods of the manifests without a quota")
        assert available(kubectl) == 0
        kubectl("delete", "namespace", HOME)
        kubectl("create", "namespace", HOME)
        given = {"image": "example.test/intact:1"}
        helm("install", "intact", CHART, "-n", HOME, "--take-ownership", values=given)
        wait_for(lambda: available(kubectl) == 2, "both pods to start", timeout=120)
        for name in ("none", "system-node-critical"):
            helm("upgrade", "intact", CHART, "-n", HOME, values=given | {"priorityClass": name})
            args = ("rollout", "status", "deployment", "intact", "-n", HOME, "--timeout=120s")
            kubectl(*args)


def test_pods_in_the_network_of_the_nodes_start_one_on_each_node(tmp_path: Path) -> None:
    """With as many nodes as replicas, also through an upgrade."""
    with Cluster(nodes=2) as cluster:
        kubectl, helm = Kubectl(cluster), Helm(cluster.kubeconfig)
        kubectl("create", "namespace", HOME)
        kubectl("label", "namespace", HOME, "pod-security.kubernetes.io/enforce=privileged")
        given = {"webhook": {"hostNetwork": True}, "image": "example.test/intact:1"}
        helm("install", "intact", CHART, "-n", HOME, values=given)
        wait = ("rollout", "status", "deployment", "intact", "-n", HOME, "--timeout=120s")
        kubectl(*wait)
        helm("upgrade", "intact", CHART, "-n", HOME, values=given | {"image": "example.test/b:2"})
        kubectl(*wait)
        pods = json.loads(kubectl("get", "pods", "-n", HOME, "-o", "json"))["items"]
        alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        assert sorted(pod["spec"]["nodeName"] for pod in alive) == ["node-0", "node-1"]
        assert {pod["spec"]["containers"][0]["image"] for pod in alive} == {"example.test/b:2"}
        assert {pod["spec"]["dnsPolicy"] for pod in alive} == {"ClusterFirstWithHostNet"}
