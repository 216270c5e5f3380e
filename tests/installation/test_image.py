"""The image of deploy/Containerfile, built, unpacked and run under the manifests' constraints."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from devcluster.cluster import Cluster
from devcluster.ports import Ports
from intact import __version__
from intact.operator.names import NAMESPACE
from tests.support.cluster_with_account import until_allowed
from tests.support.contained import contained
from tests.support.image import BASE, Images, size
from tests.support.intact_in_image import SECRETS, IntactInImage
from tests.support.namespace_under_test import NamespaceUnderTest, open_namespace
from tests.support.objects import Json

TAG = f"intact:{__version__}"
REVISION = "1f" * 20
SOURCE = "https://example.test/intact"
MOST_BYTES = 60_000_000
"""What Intact with all that it needs may add to its base; 45 million when this was written."""


@dataclass(frozen=True)
class Image:
    images: Images
    root: Path
    config: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        return dict(each.split("=", 1) for each in self.config["Env"])

    def output(self, *command: str) -> str:
        """Of a command in the image, under the manifests' constraints."""
        user = int(self.config["User"].partition(":")[0])
        ran = subprocess.run(
            contained(self.root, user, *command),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    storage = tmp_path_factory.mktemp("images")
    images = Images(storage)
    images.make_base()
    # VERSION may be left out: it is that of the package.
    images.build(TAG, BASE=BASE, REVISION=REVISION, SOURCE=SOURCE)
    root = images.unpack(TAG)
    for shell in (*root.glob("bin/*sh"), *root.glob("usr/bin/*sh")):
        shell.unlink(missing_ok=True)
    yield Image(images, root, images.config(TAG))
    shutil.rmtree(storage)  # a gigabyte


def manifests(image: Image) -> list[Json]:
    text = image.output("intact", "manifests", f"--image={TAG}")
    return [msgspec.yaml.decode(each) for each in text.split("\n---\n")]


def container(objects: list[Json]) -> Json:
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    [found] = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


class InspectedIntact(IntactInImage):
    def status(self, field: str) -> list[str]:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        [found] = [line for line in lines if line.startswith(f"{field}:")]
        return found.split()[1:]

    def mount_options(self, place: str) -> list[str]:
        mounts = Path(f"/proc/{self.pid}/mountinfo").read_text().splitlines()
        [options] = [fields[5] for fields in map(str.split, mounts) if fields[4] == place]
        return options.split(",")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Intact is installed in all of it: no other test may use it meanwhile."""
    with Cluster(nodes=1) as started:
        yield started


@pytest.fixture
def intact(image: Image, cluster: Cluster, tmp_path: Path) -> Iterator[InspectedIntact]:
    """With the ServiceAccount of the manifests, mounted as a kubelet mounts it."""
    text = image.output("intact", "manifests", f"--image={TAG}")
    kubectl = [str(cluster.kubectl), f"--kubeconfig={cluster.kubeconfig}"]
    subprocess.run([*kubectl, "apply", "-f", "-"], input=text, text=True, check=True)
    until_allowed(cluster, NAMESPACE)
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/intact/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = cluster.api.create(account, request)["status"]["token"]
    secrets = image.root / SECRETS
    secrets.mkdir(parents=True)
    (secrets / "token").write_text(token)
    (secrets / "ca.crt").write_bytes(cluster.layout.ca.certificate.read_bytes())
    (secrets / "namespace").write_text(NAMESPACE)
    host, _, port = cluster.server.removeprefix("https://").partition(":")
    address = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    ports = Ports()
    try:
        bind = f"127.0.0.1:{ports.reserve()}"
        options = [f"--webhook-bind={bind}"]
        found = container(manifests(image))
        environment = image.environment | address
        log = tmp_path / "log"
        with InspectedIntact(image.root, found, log, environment, options) as started:
            yield started
    finally:
        ports.release()
        shutil.rmtree(secrets)


@pytest.fixture
def ns(
    cluster: Cluster, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    yield from open_namespace(cluster, runner, request)


def test_the_image_says_what_it_is(image: Image) -> None:
    assert image.config["User"] == "65532:65532"
    assert image.config["Entrypoint"] == ["intact"]
    labels = {
        key.removeprefix("org.opencontainers.image."): value
        for key, value in image.config["Labels"].items()
    }
    assert labels["version"] == __version__
    assert (labels["revision"], labels["source"]) == (REVISION, SOURCE)
    assert labels["licenses"] == "Apache-2.0"


def test_it_has_what_intact_needs_and_no_more(
    image: Image, capsys: pytest.CaptureFixture[str]
) -> None:
    assert image.output("intact", "version") == f"intact {__version__}\n"
    own = image.root / "opt/intact"
    [packages] = own.glob("lib/python3.*/site-packages")
    assert not list(packages.glob("pip*"))
    assert not (image.root / "build").exists()
    base = size(image.root) - size(own)
    with capsys.disabled():
        sys.stderr.write(f"\nimage: {size(own) / 1e6:.0f} MB on a base of {base / 1e6:.0f} MB\n")
    assert size(own) <= MOST_BYTES


def test_another_version_than_the_packages_is_refused(image: Image) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"VERSION is '9\.9\.9'"):
        image.images.build("intact:other", BASE=BASE, VERSION="9.9.9")


async def test_intact_runs_from_it_and_holds_a_budget(
    intact: InspectedIntact, ns: NamespaceUnderTest
) -> None:
    intact.wait_ready()
    assert intact.status("Uid") == ["65532"] * 4
    assert intact.status("NoNewPrivs") == ["1"]
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(intact.status(kind)[0], 16) == 0
    assert "ro" in intact.mount_options("/")

    labels = {"app": "web"}
    await ns.pods("a", "b", labels=labels)
    spec = {"selector": {"matchLabels": labels}, "maxUnavailable": 1}
    await ns.budget(spec, total_replicas=2, unavailable_allowed=1)
    assert (await ns.delete("a")).code == 200
    refused = await ns.delete("b")
    assert (refused.code, refused.causes) == (429, ("DisruptionBudget",))

    os.kill(intact.pid, signal.SIGTERM)  # as a kubelet: to the first process of the container
    assert intact.process.wait(60) == 0, intact.log
