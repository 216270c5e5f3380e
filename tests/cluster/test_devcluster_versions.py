"""Which Kubernetes the development cluster runs. That each of them starts is shown by
`make test-versions`."""

import pytest

from devcluster import cli, pins
from devcluster.cluster import Cluster
from devcluster.errors import DevclusterError
from devcluster.pinning import go_mod

ORIGINAL = """\
// This is a generated file.

module k8s.io/kubernetes

go 1.23.0

godebug default=go1.23

require (
\tgithub.com/spf13/cobra v1.8.1
\tk8s.io/api v0.0.0
)

require (
\tgopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
)
"""
MADE = """\
module intact.dev/devcluster/kubernetes-1.32

go 1.23.0

godebug default=go1.23

tool (
\tk8s.io/kubernetes/cmd/kube-apiserver
\tk8s.io/kubernetes/cmd/kube-controller-manager
\tk8s.io/kubernetes/cmd/kube-scheduler
)

require k8s.io/kubernetes v1.32.13

require (
\tgithub.com/spf13/cobra v1.8.1
\tk8s.io/api v0.0.0
\tgopkg.in/yaml.v3 v3.0.1
)

replace (
\tk8s.io/api => k8s.io/api v0.32.13
)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version", "1.30", "build"),
        ("build", "--version=1.30"),
        ("--version=1.36", "build", "--version=1.30"),
    ],
)
def test_the_version_may_stand_before_the_command(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def build(version: str) -> dict[str, str]:
        built.append(version)
        return {}

    monkeypatch.setattr(cli, "ensure_cluster", build)
    assert cli.main(arguments) == 0
    assert built == ["1.30"]


def test_every_minor_version_from_1_30_on_is_pinned() -> None:
    assert pins.versions() == [f"1.{minor}" for minor in range(30, 37)]
    assert pins.newest() == pins.versions()[-1]


@pytest.mark.parametrize("version", pins.versions())
def test_the_servers_of_a_version_come_from_its_module_and_have_a_directory_of_their_own(
    version: str,
) -> None:
    servers = pins.servers_of(version)
    if version == pins.newest():
        assert servers is None
        return
    assert servers is not None
    assert [binary.name for binary in servers.binaries] == list(pins.SERVERS)
    assert servers.modules == [f"kubernetes-{version}"]
    assert pins.kubernetes_version(f"kubernetes-{version}").startswith(f"v{version}.")
    assert pins.binary_directory(servers) != pins.binary_directory()


def test_the_version_is_that_of_the_argument_the_environment_or_the_newest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(pins.VERSION_VARIABLE, "1.31")
    assert Cluster(version="1.33").version == "1.33"
    assert Cluster().version == "1.31"
    monkeypatch.delenv(pins.VERSION_VARIABLE)
    assert Cluster().version == pins.newest()
    monkeypatch.setenv(pins.VERSION_VARIABLE, "1.20")
    with pytest.raises(DevclusterError, match=r"no modules are pinned for Kubernetes '1\.20'"):
        Cluster()


@pytest.mark.parametrize("version", ["1.33.2", "33", "v1.33", "latest"])
def test_only_a_minor_version_is_pinned(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pin", version]) == 1
    assert f"MINOR is a minor version as 1.33, not '{version}'" in capsys.readouterr().err


def test_the_newest_version_is_pinned_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pin", pins.newest()]) == 1
    assert f"{pins.newest()} is the version of modules/kubernetes" in capsys.readouterr().err


def test_a_pinned_module_replaces_directories_by_releases() -> None:
    made = go_mod(ORIGINAL, "v1.32.13", "kubernetes-1.32", {"k8s.io/api": "v0.32.13"})
    assert made == MADE
