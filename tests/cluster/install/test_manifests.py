"""`intact manifests` and `intact uninstall` on a real cluster, with a real kubectl."""

import asyncio
import functools
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.ports import Ports
from devcluster.waiting import wait_for
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from intact.kube.resources import untyped
from intact.operator.install.rbac import OWNERS_LABEL, READ
from intact.operator.webhook.authority import new_authority
from intact.operator.webhook.configuration import (
    GATED_LABEL,
    ServiceAddress,
    validating_configuration,
)
from intact.operator.webhook.registration import Registration
from tests.cluster.pub.test_counting import owned_by
from tests.support.cluster_with_account import until_allowed
from tests.support.intact_process import intact_run
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.kubectl import Kubectl
from tests.support.namespace_under_test import eventually
from tests.support.objects import PODS, definition, pod
from tests.support.pub_cases import amount, budget, target

REVIEWS = untyped(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
Json = dict[str, Any]
CRD = "podunavailablebudgets.policy.kruise.io"


def intact(*arguments: str) -> str:
    ran = subprocess.run(
        [Path(sys.executable).with_name("intact"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster)


@pytest.fixture
def home(cluster: Cluster, kubectl: Kubectl) -> Iterator[str]:
    """A namespace that Intact is installed into."""
    name = f"intact-{uuid.uuid4().hex[:8]}"
    text = intact("manifests", "--namespace", name, "--image", "example.test/intact:1")
    kubectl("apply", "-f", "-", stdin=text)
    until_allowed(cluster, name)
    yield name
    intact("uninstall", "--yes", "--kubeconfig", str(cluster.kubeconfig), "--namespace", name)
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.mark.parametrize(
    ("controllers", "may", "may_not"),
    [
        (
            "pub",
            [("update", f"{CRD}/status", ""), ("patch", "namespaces", "")],
            [
                ("create", "statefulsets.apps", ""),
                ("delete", "deployments.apps", ""),
                ("patch", "pods", ""),
                ("patch", "poddisruptionbudgets.policy/status", ""),
            ],
        ),
        (
            "rbg",
            [("create", "statefulsets.apps", ""), ("patch", "pods", "")],
            [
                ("update", f"{CRD}/status", ""),
                ("patch", "namespaces", ""),
                ("list", "jobs.batch", ""),
            ],
        ),
    ],
)
async def test_an_account_has_the_rights_of_its_controllers_only(
    cluster: Cluster,
    kubectl: Kubectl,
    controllers: str,
    may: list[tuple[str, str, str]],
    may_not: list[tuple[str, str, str]],
) -> None:
    name = f"only-{controllers}-{uuid.uuid4().hex[:6]}"
    text = intact("manifests", "--namespace", name, "--controllers", controllers)
    kubectl("apply", "-f", "-", stdin=text)
    try:
        until_allowed(cluster, name)
        async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
            assert [one for one in may if not await allows(client, name, *one)] == []
            assert [one for one in may_not if await allows(client, name, *one)] == []
    finally:
        intact("uninstall", "--yes", "--kubeconfig", str(cluster.kubeconfig), "--namespace", name)
        kubectl("delete", "namespace", name, "--wait=false")


def until_available(kubectl: Kubectl, home: str) -> None:
    def available() -> bool:
        found = json.loads(kubectl("get", "deployment", "intact", "-n", home, "-o", "json"))
        return bool(found["status"].get("availableReplicas") == 2)

    wait_for(available, "two replicas of Intact", timeout=120)


def test_the_manifests_are_accepted_and_the_pods_start(kubectl: Kubectl, home: str) -> None:
    # Pod Security admits the two pods at its strictest level.
    until_available(kubectl, home)
    default = ("serviceaccount", "default", "-n", home)
    wait_for(lambda: kubectl.names(*default), "the default ServiceAccount")
    assert kubectl.names(
        "pdb,networkpolicy,service,role,rolebinding,serviceaccount", "-n", home
    ) == [
        "poddisruptionbudget.policy/intact",
        "networkpolicy.networking.k8s.io/intact",
        "service/intact-metrics",
        "service/intact-webhook",
        "role.rbac.authorization.k8s.io/intact",
        "rolebinding.rbac.authorization.k8s.io/intact",
        "serviceaccount/default",
        "serviceaccount/intact",
    ]


def test_the_manifests_can_be_applied_again_without_a_change(kubectl: Kubectl, home: str) -> None:
    text = intact("manifests", "--namespace", home, "--image", "example.test/intact:1")
    kubectl("apply", "-f", "-", "--dry-run=server", stdin=text)
    kubectl("apply", "-f", "-", stdin=text)
    assert kubectl("diff", "-f", "-", stdin=text) == ""


LIKE_NUMBERS = ("1e3", "1.5e3", "08", "0o17", "2026-1-2", "12e45", "y", "N", "0x1F", "null")


def test_labels_that_look_like_numbers_are_texts_to_kubectl(kubectl: Kubectl) -> None:
    labels = {f"l{at}": text for at, text in enumerate(LIKE_NUMBERS)}
    flags = [f"--label={key}={text}" for key, text in labels.items()]
    text = intact("manifests", "--namespace", "1e3", "--priority-class", "1e3", *flags)
    made = kubectl("create", "-f", "-", "--dry-run=client", "-o", "json", stdin=text)
    # One document after another, as `-o json` of several objects is printed by some versions.
    [namespace] = [one for one in _objects(made) if one["kind"] == "Namespace"]
    assert namespace["metadata"]["name"] == "1e3"
    assert labels.items() <= namespace["metadata"]["labels"].items()


def _objects(text: str) -> Iterator[Json]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        found, at = decoder.raw_decode(text, at)
        yield from found.get("items", [found])
        at += len(text[at:]) - len(text[at:].lstrip())


@pytest.fixture
def bind() -> Iterator[str]:
    ports = Ports()
    yield f"127.0.0.1:{ports.reserve()}"
    ports.release()


async def test_intact_run_works_with_the_rights_of_the_manifests(
    cluster: Cluster, kubectl: Kubectl, home: str, namespace: str, tmp_path: Path, bind: str
) -> None:
    """`intact run` as the ServiceAccount counts a budget and gates its namespace."""
    token = kubectl("create", "token", "intact", "-n", home).strip()
    kubeconfig = write_kubeconfig(
        cluster, tmp_path / "kubeconfig", namespace=home, user={"token": token}
    )
    kubectl("create", "deployment", "web", "--image=x", "--replicas=3", "-n", namespace)
    kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(budget(target())))
    async with intact_run(kubeconfig, "--webhook-bind", bind) as running:
        await running.started()
        # Gated namespaces of other tests may still be terminating, which takes long for many.
        async with asyncio.timeout(300):
            while not (
                kubectl("get", "pub", "budget", "-n", namespace, "-o", ALLOWED_NOW) == "1"
                and kubectl.names("namespaces", "-l", GATED_LABEL) == [f"namespace/{namespace}"]
            ):
                await asyncio.sleep(0.2)
        await running.ready()
        running.process.terminate()
        assert await running.ended() == 0
        assert not [line for line in running.log if "forbidden" in line.lower()]


ALLOWED_NOW = "jsonpath={.status.unavailableAllowed}"


CLONE_SETS = ("list", "clonesets.apps.kruise.io", "")
ALLOWED = [
    *((verb, "pods", "") for verb in ("get", "list", "watch")),
    *((verb, "namespaces", "") for verb in ("list", "watch", "patch")),
    *((verb, "statefulsets.apps", "") for verb in ("get", "list", "watch")),
    *((verb, "replicationcontrollers", "") for verb in ("get", "list", "watch")),
    *((verb, "leaderworkersets.leaderworkerset.x-k8s.io", "") for verb in ("get", "list", "watch")),
    ("get", "deployments.apps/scale", ""),
    ("get", "clonesets.apps.kruise.io/scale", ""),
    ("update", f"{CRD}/status", ""),
    *((verb, "poddisruptionbudgets.policy", "") for verb in ("get", "list", "watch")),
    ("patch", "poddisruptionbudgets.policy/status", ""),
    ("patch", "pods/status", ""),
    ("create", "pods/eviction", ""),
    ("create", "events", ""),
    ("list", "podgroups.scheduling.k8s.io", ""),
    *(
        (verb, f"{kind}webhookconfigurations.admissionregistration.k8s.io{name}", "")
        for kind in ("mutating", "validating")
        for verb, name in (("create", ""), ("update", "/intact"))
    ),
    ("update", "leases.coordination.k8s.io/intact", "HOME"),
    ("create", "leases.coordination.k8s.io", "HOME"),
    ("create", "secrets", "HOME"),
    ("get", "secrets/intact-webhook-ca", "HOME"),
    ("update", "secrets/intact-webhook-ca", "HOME"),
    ("delete", "secrets/intact-webhook-ca", "HOME"),
]
REFUSED = [
    ("delete", "pods", ""),
    ("create", "pods", "HOME"),
    ("update", CRD, ""),
    ("update", "poddisruptionbudgets.policy", ""),
    ("update", "poddisruptionbudgets.policy/status", ""),
    ("delete", "configmaps", ""),
    ("list", "secrets", "HOME"),
    ("get", "secrets/another", "HOME"),
    ("get", "secrets", ""),
    ("delete", "namespaces", ""),
    ("update", "validatingwebhookconfigurations.admissionregistration.k8s.io/another", ""),
    ("update", "mutatingwebhookconfigurations.admissionregistration.k8s.io/another", ""),
    ("update", "deployments.apps/scale", ""),
    CLONE_SETS,
]


async def test_the_service_account_may_do_what_it_needs_and_no_more(
    cluster: Cluster, home: str
) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        wrong = [one for one in ALLOWED if not await allows(client, home, *one)]
        assert wrong == []
        too_much = [one for one in REFUSED if await allows(client, home, *one)]
        assert too_much == []


async def test_a_cluster_role_with_the_label_adds_a_kind_of_owners(
    cluster: Cluster, kubectl: Kubectl, home: str
) -> None:
    rule = {"apiGroups": ["apps.kruise.io"], "resources": ["clonesets"], "verbs": READ}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{home}-clonesets", "labels": {OWNERS_LABEL: "true"}},
        "rules": [rule],
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(role))
    try:
        async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
            async with asyncio.timeout(60):
                while not await allows(client, home, *CLONE_SETS):
                    await asyncio.sleep(0.1)
    finally:
        kubectl("delete", "clusterrole", f"{home}-clonesets")


PLANS = untyped("owners.intact.dev", "v1", "plans", "Plan")


async def test_pods_of_a_kind_that_the_account_may_not_read_are_held_by_their_own_budgets_only(
    cluster: Cluster, kubectl: Kubectl, home: str, namespace: str, tmp_path: Path, bind: str
) -> None:
    """Also beside a budget that names a workload, for which all owners of a pod matter."""
    kubectl("apply", "-f", "-", stdin=json.dumps(definition(PLANS)))
    plan = {"apiVersion": PLANS.api_version, "kind": PLANS.kind, "metadata": {"name": "plan"}}
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        make = functools.partial(client.create, PLANS, plan, namespace)
        owned = owned_by(await eventually(make, bool, "the kind"), PLANS.api_version, PLANS.kind)
        for name, app in (("held-0", "held"), ("held-1", "held"), ("free", "free")):
            body = pod(name, node="node-0", labels={"app": app}, **owned)
            await client.create(PODS, body, namespace)
    kubectl("wait", "pods", "--all", "--for=condition=Ready", "-n", namespace, "--timeout=60s")
    kubectl("create", "deployment", "web", "--image=x", "-n", namespace)
    held = {"selector": {"matchLabels": {"app": "held"}}, "maxUnavailable": 1}
    for made in (budget(target(), "web"), budget(held, "held")):
        kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(made))
    token = kubectl("create", "token", "intact", "-n", home).strip()
    kubeconfig = write_kubeconfig(
        cluster, tmp_path / "kubeconfig", namespace=home, user={"token": token}
    )
    async with intact_run(kubeconfig, "--webhook-bind", bind) as running:
        await running.started()
        async with asyncio.timeout(300):
            while kubectl("get", "pub", "held", "-n", namespace, "-o", WORKING) != "True":
                await asyncio.sleep(0.2)
        for name in ("free", "held-0"):
            kubectl("delete", "pod", name, "-n", namespace, "--wait=false")
        with pytest.raises(AssertionError, match="the budget held requires 1"):
            kubectl("delete", "pod", "held-1", "-n", namespace, "--wait=false")
        running.process.terminate()
        assert await running.ended() == 0


WORKING = "jsonpath={.status.conditions[?(@.type=='Working')].status}"


async def allows(client: Client, home: str, verb: str, what: str, where: str) -> bool:
    full, _, rest = what.partition("/")
    resource, _, group = full.partition(".")
    subresource = rest if rest in ("status", "scale", "eviction") else ""
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "name": "" if subresource else rest,
        "namespace": home if where == "HOME" else "",
    }
    body: dict[str, Any] = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{home}:intact",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }
    return bool((await client.create(REVIEWS, body))["status"]["allowed"])


RBGS = "rolebasedgroups.workloads.x-k8s.io"
ADAPTERS = "rolebasedgroupscalingadapters.workloads.x-k8s.io"
_SEE = ("get", "list", "watch")
_CHANGE = ("create", "update", "patch", "delete")
_USE = {
    **{(verb, kind): {"view", "edit", "admin"} for verb in _SEE for kind in (CRD, RBGS, ADAPTERS)},
    **{(verb, kind): {"edit", "admin"} for verb in _CHANGE for kind in (CRD, RBGS, ADAPTERS)},
    ("get", f"{ADAPTERS}/scale"): {"view", "edit", "admin"},
    ("update", f"{ADAPTERS}/scale"): {"edit", "admin"},
    ("patch", f"{ADAPTERS}/scale"): {"edit", "admin"},
    ("get", f"{CRD}/status"): {"view", "edit", "admin"},
    ("update", f"{CRD}/status"): set(),
    ("patch", f"{RBGS}/status"): set(),
}
"""What those may do who are bound to a ClusterRole of Kubernetes' own in a namespace."""


def test_whoever_works_in_a_namespace_can_use_budgets_and_groups_there(
    kubectl: Kubectl, home: str, namespace: str
) -> None:
    for role in ("view", "edit", "admin"):
        name = f"of-{role}"
        bound = (f"--clusterrole={role}", f"--user={name}", f"--namespace={namespace}")
        kubectl("create", "rolebinding", name, *bound)

    def found(where: str) -> dict[tuple[str, str], set[str]]:
        return {
            (verb, what): {
                role
                for role in ("view", "edit", "admin")
                if can_i(kubectl, role, verb, what, where)
            }
            for verb, what in _USE
        }

    # Kubernetes' controller aggregates the roles a moment after they are there.
    wait_for(lambda: can_i(kubectl, "admin", "create", CRD, namespace), "the aggregation")
    wait_for(lambda: can_i(kubectl, "view", "list", RBGS, namespace), "the aggregation")
    assert found(namespace) == _USE
    assert not can_i(kubectl, "admin", "create", CRD, home)


def can_i(kubectl: Kubectl, role: str, verb: str, what: str, where: str) -> bool:
    full, _, subresource = what.partition("/")
    given = (verb, full, f"--subresource={subresource}") if subresource else (verb, full)
    asked = ("auth", "can-i", *given, f"--as=of-{role}", f"--namespace={where}")
    return kubectl.answer(*asked) == "yes"


async def test_uninstall_removes_all_but_budgets(
    cluster: Cluster, kubectl: Kubectl, home: str, namespace: str
) -> None:
    async with Client(HttpTransport(config.load(str(cluster.kubeconfig)))) as client:
        bundle = new_authority(datetime.now(UTC)).bundle
        address = ServiceAddress(home, "intact-webhook")
        kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(budget(amount(1))))
        await Registration(client, lambda: validating_configuration(address, bundle)).ensure()
    kubectl("label", "namespace", namespace, f"{GATED_LABEL}=true")
    arguments = ("uninstall", "--yes", "--kubeconfig", str(cluster.kubeconfig), "--namespace", home)
    # Otherwise pods could be created after the uninstall has looked for them.
    until_available(kubectl, home)

    said = intact(*arguments).splitlines()

    assert said[0] == "ValidatingWebhookConfiguration intact deleted"
    assert said[1] == f"label {GATED_LABEL} of namespace {namespace} removed"
    assert f"Deployment {home}/intact deleted" in said
    assert kubectl.names("validatingwebhookconfiguration") == []
    assert kubectl.names("mutatingwebhookconfiguration") == []
    assert kubectl.names("namespaces", "-l", GATED_LABEL) == []
    selector = "app.kubernetes.io/name=intact"
    kinds = "deployment,pod,pdb,service,role,rolebinding,serviceaccount,secret"
    assert kubectl.names(kinds, "-n", home, "-l", selector) == []
    assert kubectl.names("clusterrole,clusterrolebinding", "-l", selector) == []
    assert kubectl.names("pub", "-n", namespace) == ["podunavailablebudget.policy.kruise.io/budget"]

    again = intact(*arguments).splitlines()
    assert not any("deleted" in line or "removed" in line.split() for line in again)
    assert not any("any more" in line for line in again)


def test_uninstall_removes_budgets_when_asked(
    cluster: Cluster, kubectl: Kubectl, home: str
) -> None:
    arguments = ("uninstall", "--yes", "--kubeconfig", str(cluster.kubeconfig), "--namespace", home)
    said = intact(*arguments, "--crds")
    assert f"CustomResourceDefinition {CRD} deleted" in said
    wait_for(lambda: kubectl.names("crd", CRD) == [], "the end of the CRD")
