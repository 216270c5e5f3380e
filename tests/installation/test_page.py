"""A stranger follows docs/install.md, command by command, on a real cluster: builds the image,
installs, makes a first budget as a namespace's admin, drains, upgrades, and removes it.

The commands are those of the page, with two things that tests do not have: a base image from a
registry, and a registry to push to. The pods of Intact run from the pushed image, under the
manifests' constraints; all other pods are kwok's.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from devcluster.errors import ApiError
from devcluster.waiting import wait_for
from intact import __version__
from tests.support.console import Command, Shell, commands
from tests.support.examples import ROOT
from tests.support.helm import Helm
from tests.support.image import BASE, Images
from tests.support.image_registry import ImageRegistry, write_buildah
from tests.support.kubectl import Kubectl
from tests.support.objects import Json
from tests.support.process_kubelet import TAINT, ProcessKubelet

IMAGE = "registry.example.com/intact"
HOME = "intact-system"
TRY = "try"
COMMANDS = commands(ROOT / "docs/install.md")
FOR_DEVELOPMENT = "Outside a cluster"
"""Its command runs until it is ended; tests/cluster run it all the time."""
CHOICES = ("With helm", "With [helm]"), ("Without helm",)
"""A block after a paragraph that begins like this is one of two ways."""
_LOG = logging.getLogger(__name__)
REGISTRATIONS = "validatingwebhookconfigurations,mutatingwebhookconfigurations"


def way(*, helm: bool) -> list[Command]:
    """The commands of the page for a reader who has helm, or has not."""
    others = CHOICES[helm]
    chosen = [each for each in COMMANDS if each.section != FOR_DEVELOPMENT]
    return [each for each in chosen if not each.lead.startswith(others)]


@dataclass(frozen=True)
class Machine:
    """A stranger's: a clone of the project, an environment of Python, kubectl, helm, buildah."""

    clone: Path
    environment: dict[str, str]
    registry: ImageRegistry


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    home = tmp_path_factory.mktemp("stranger")
    clone, tools, python = home / "intact", home / "bin", home / "python"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    tools.mkdir()
    (home / "images").mkdir()
    (home / "registry").mkdir()
    Images(home / "images").make_base()
    registry = ImageRegistry(home / "registry")
    write_buildah(tools / "buildah", home / "images", registry)
    (tools / "helm").symlink_to(Helm().program)
    path = [python / "bin", home / ".local/bin", tools, Path("/usr/bin"), Path("/bin")]
    environment = {
        **os.environ,
        "HOME": str(home),
        "PATH": os.pathsep.join(map(str, path)),
        # The API server is on loopback, where no proxy leads.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "XDG_CACHE_HOME", "MAKEFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    yield Machine(clone, environment, registry)
    shutil.rmtree(home)  # gigabytes


_TO_PROCESSES = f"""[
    JSONPatch{{op: "add", path: "/spec/nodeSelector",
        value: {{"kubernetes.io/hostname": "processes"}}}},
    JSONPatch{{op: "add", path: "/spec/tolerations/-",
        value: Object.spec.tolerations{{key: "{TAINT}", operator: "Exists"}}}}
]"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Pods of Intact's namespace go to the node that runs them, all others to kwok's."""
    pods = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    policy = {
        "matchConstraints": {"resourceRules": [pods]},
        "matchConditions": [{"name": "home", "expression": f"request.namespace == '{HOME}'"}],
        "reinvocationPolicy": "Never",
        "failurePolicy": "Fail",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _TO_PROCESSES}}],
    }
    with Cluster(nodes=3) as found:
        for kind, spec in (("Policy", policy), ("PolicyBinding", {"policyName": "processes"})):
            body = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"MutatingAdmission{kind}",
                "metadata": {"name": "processes"},
                "spec": spec,
            }
            Kubectl(found)("create", "-f", "-", stdin=json.dumps(body))
        yield found


class Reader:
    """Types the commands of the page, section by section."""

    def __init__(self, shell: Shell, steps: list[Command]) -> None:
        self._shell = shell
        self._steps = steps
        self.said: dict[str, str] = {}
        """What each command has printed."""

    def follow(self, section: str) -> None:
        chosen = [each for each in self._steps if each.section == section]
        assert chosen, f"the page has no commands in the section {section!r}"
        # Sections in the order of the page: none is passed over.
        assert self._steps[: len(chosen)] == chosen
        del self._steps[: len(chosen)]
        for step in chosen:
            text = step.text.replace("python:3.13-slim", BASE)
            _LOG.info("$ %s", text)
            answer = ""
            if text == "intact uninstall":  # it asks, on a terminal
                text, answer = f"script --quiet --return --command '{text}' /dev/null", "y"
            self.said[step.text] = self._shell.type(text, answer)

    @property
    def at_the_end(self) -> bool:
        return not self._steps


class Watcher:
    """Looks at the cluster between the commands."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.kubectl = Kubectl(cluster)

    def pods(self, namespace: str) -> list[Json]:
        found = json.loads(self.kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def images(self) -> set[str]:
        return {pod["spec"]["containers"][0]["image"] for pod in self.pods(HOME)}

    def check_held(self) -> None:
        """Of four pods one may go."""

        def allowed() -> bool:
            status = json.loads(self.kubectl("get", "pub", "web", "-n", TRY, "-o", "json"))[
                "status"
            ]
            return bool(status["unavailableAllowed"] == 1)

        wait_for(allowed, "the budget to allow one", timeout=60)
        web = [
            pod["metadata"]["name"] for pod in self.pods(TRY) if "web" in pod["metadata"]["name"]
        ]
        answers = [self._delete(name) for name in web[:2]]
        assert [code for code, _ in answers] == [200, 429], answers

    def _delete(self, name: str) -> tuple[int, str]:
        try:
            self._cluster.api.delete(f"/api/v1/namespaces/{TRY}/pods/{name}")
        except ApiError as error:
            return error.status, str(error)
        return 200, ""


@pytest.mark.parametrize("helm", [True, False], ids=["with helm", "without helm"])
def test_each_command_of_the_page_does_what_it_says(
    machine: Machine, cluster: Cluster, helm: bool
) -> None:
    kubectl = Path(machine.environment["HOME"]) / "bin/kubectl"
    kubectl.unlink(missing_ok=True)
    kubectl.symlink_to(cluster.kubectl)
    environment = machine.environment | {"KUBECONFIG": str(cluster.kubeconfig)}
    watcher = Watcher(cluster)
    with (
        ProcessKubelet(cluster, registry=machine.registry) as kubelet,
        Shell(machine.clone, environment) as shell,
    ):
        reader = Reader(shell, way(helm=helm))

        reader.follow("Get the command, build the image")
        for command in ("intact version", "./dist/intact.pyz version", "kubectl intact version"):
            assert reader.said[command] == f"intact {__version__}\n"
        machine.registry.copy(f"{IMAGE}:{__version__}", f"{IMAGE}:NEW")

        reader.follow("In a cluster")
        assert len(kubelet.logs) == 2
        assert watcher.images() == {f"{IMAGE}:{__version__}"}

        reader.follow("The first budget")
        emptied = shell.type("echo $NODE").strip()
        assert emptied not in {pod["spec"].get("nodeName") for pod in watcher.pods(TRY)}
        assert len(watcher.pods(TRY)) == 10
        watcher.check_held()

        reader.follow("Upgrade it")
        assert watcher.images() == {f"{IMAGE}:NEW"}
        watcher.check_held()

        reader.follow("Remove it")
        assert reader.at_the_end
        assert watcher.kubectl.names(REGISTRATIONS) == []
        assert watcher.kubectl.names("deployments", "-n", HOME) == []
        lines = [line for log in kubelet.logs.values() for line in log.splitlines()]
        assert [line for line in lines if "forbidden" in line] == []


def test_every_command_of_the_page_is_on_one_of_both_ways() -> None:
    known = {each.text for helm in (True, False) for each in way(helm=helm)}
    left = [each for each in COMMANDS if each.text not in known]
    assert {each.section for each in left} <= {FOR_DEVELOPMENT}
    assert len(way(helm=True)) > 20
