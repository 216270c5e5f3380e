"""`python -m devcluster`: up, down, status, kubectl, build, pin."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from devcluster import keeper, pinning, pins
from devcluster.build import ensure_binaries, ensure_cluster
from devcluster.components import COMPONENTS
from devcluster.errors import DevclusterError, NotRunningError
from devcluster.process import alive
from devcluster.progress import to_stderr
from devcluster.toolchain import find_go

_TOOLSETS = {
    "cluster": pins.CLUSTER,
    "helm": pins.HELM,
    "karpenter": pins.KARPENTER,
    "prometheus": pins.PROMETHEUS,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except DevclusterError as error:
        print(f"devcluster: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="devcluster", description="A real Kubernetes in one command."
    )
    _add_version(parser, None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], int], about: str
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, description=about, help=about)
        added.set_defaults(run=run)
        return added

    up = command("up", _up, "start a cluster and print the path of its kubeconfig")
    keep = command("keep", _keep, "run a cluster in the foreground until SIGTERM")
    down = command("down", _down, "end the cluster")
    status = command("status", _status, "show the components; fails if one does not run")
    kubectl = command("kubectl", _kubectl, "run kubectl against the cluster: kubectl -- ARGS")
    build = command("build", _build, "only build the binaries")
    build.add_argument("toolset", nargs="?", choices=_TOOLSETS, default="cluster")
    pin = command("pin", _pin, "pin the modules of another Kubernetes, or of a newer patch of it")
    pin.add_argument("minor", metavar="MINOR", help="the minor version, as 1.33")
    for each in (up, keep, down, status, kubectl):
        each.add_argument(
            *("--data-dir", "-d"),
            type=Path,
            default=pins.cache_directory() / "default",
            help="data directory of the cluster (default: %(default)s)",
        )
    for each in (up, keep, build):
        # What stands before the command counts unless the command has its own.
        _add_version(each, argparse.SUPPRESS)
    for each in (up, keep):
        each.add_argument(
            "--nodes", type=int, default=3, metavar="N", help="number of nodes (default: 3)"
        )
        each.add_argument(
            "--without",
            action="append",
            default=[],
            choices=COMPONENTS,
            help="do not start this component; may be repeated",
        )
        for component in COMPONENTS:
            each.add_argument(
                f"--{component.removeprefix('kube-')}-flag",
                dest=component,
                action="append",
                default=[],
                metavar="FLAG",
                help=f"another flag for {component}, written as =--x=y; may be repeated",
            )
    kubectl.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def _add_version(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--version",
        choices=pins.versions(),
        default=default,
        help="minor version of the servers (default: that of the environment variable "
        f"{pins.VERSION_VARIABLE}, else {pins.newest()})",
    )


def _directory(options: argparse.Namespace) -> Path:
    directory: Path = options.data_dir
    return directory.absolute()


def _flags(options: argparse.Namespace) -> dict[str, list[str]]:
    given = {component: getattr(options, component) for component in COMPONENTS}
    return {component: values for component, values in given.items() if values}


def _up(options: argparse.Namespace) -> int:
    directory = _directory(options)
    version = pins.chosen_version(options.version)
    try:
        state = keeper.find(directory)
        if options.version not in (None, state.version):
            raise DevclusterError(
                f"a cluster of Kubernetes {state.version} is running in {directory}: end it, or "
                "use another data directory"
            )
        print("devcluster: already running", file=sys.stderr)
    except NotRunningError:
        # Built here and not in the keeper, so that the user sees the progress.
        ensure_cluster(version)
        state = keeper.start(directory, options.nodes, _flags(options), options.without, version)
    print(state.kubeconfig)
    return 0


def _keep(options: argparse.Namespace) -> int:
    flags = _flags(options)
    keeper.keep(_directory(options), options.nodes, flags, options.without, options.version)
    return 0


def _down(options: argparse.Namespace) -> int:
    try:
        keeper.stop(_directory(options))
    except NotRunningError as error:
        print(f"devcluster: {error}", file=sys.stderr)
    return 0


def _status(options: argparse.Namespace) -> int:
    state = keeper.find(_directory(options))
    ended = False
    for component, pid in state.components.items():
        running = alive(pid)
        ended = ended or not running
        print(f"{component:<24} {pid:>8}  {'running' if running else 'ended'}")
    print(f"{'keeper':<24} {state.keeper:>8}  running")
    print(f"version     {state.version}")
    print(f"server      {state.server}")
    print(f"etcd        {state.etcd}")
    print(f"kubeconfig  {state.kubeconfig}")
    return 1 if ended else 0


def _kubectl(options: argparse.Namespace) -> int:
    state = keeper.find(_directory(options))
    kubectl = ensure_cluster(state.version)["kubectl"]
    arguments = options.arguments
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    sys.stdout.flush()
    environment = {**os.environ, "KUBECONFIG": state.kubeconfig}
    os.execve(kubectl, ["kubectl", *arguments], environment)  # noqa: S606 - no shell is meant


def _build(options: argparse.Namespace) -> int:
    if options.toolset == "cluster":
        for path in ensure_cluster(pins.chosen_version(options.version)).values():
            print(path)
    else:
        print(ensure_binaries(toolset=_TOOLSETS[options.toolset]))
    return 0


def _pin(options: argparse.Namespace) -> int:
    if not re.fullmatch(r"1\.\d+", options.minor):
        raise DevclusterError(f"MINOR is a minor version as 1.33, not {options.minor!r}")
    if options.minor == pins.newest():
        raise DevclusterError(
            f"{options.minor} is the version of modules/kubernetes, whose go.mod also pins the "
            "tools: change that one by hand"
        )
    print(pinning.pin(options.minor, find_go(pins.CLUSTER, to_stderr), to_stderr))
    return 0
