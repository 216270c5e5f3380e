"""`python -m devcluster`: up, down, status, kubectl, build."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from devcluster import keeper, pins
from devcluster.build import ensure_binaries
from devcluster.components import COMPONENTS
from devcluster.errors import DevclusterError, NotRunningError
from devcluster.process import alive


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
    command("build", _build, "only build the binaries")
    for each in (up, keep, down, status, kubectl):
        each.add_argument(
            *("--data-dir", "-d"),
            type=Path,
            default=pins.cache_directory() / "default",
            help="data directory of the cluster (default: %(default)s)",
        )
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


def _directory(options: argparse.Namespace) -> Path:
    directory: Path = options.data_dir
    return directory.absolute()


def _flags(options: argparse.Namespace) -> dict[str, list[str]]:
    given = {component: getattr(options, component) for component in COMPONENTS}
    return {component: values for component, values in given.items() if values}


def _up(options: argparse.Namespace) -> int:
    directory = _directory(options)
    try:
        state = keeper.find(directory)
        print("devcluster: already running", file=sys.stderr)
    except NotRunningError:
        # Built here and not in the keeper, so that the user sees the progress.
        ensure_binaries()
        state = keeper.start(directory, options.nodes, _flags(options), options.without)
    print(state.kubeconfig)
    return 0


def _keep(options: argparse.Namespace) -> int:
    keeper.keep(_directory(options), options.nodes, _flags(options), options.without)
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
    print(f"server      {state.server}")
    print(f"etcd        {state.etcd}")
    print(f"kubeconfig  {state.kubeconfig}")
    return 1 if ended else 0


def _kubectl(options: argparse.Namespace) -> int:
    state = keeper.find(_directory(options))
    kubectl = ensure_binaries() / "kubectl"
    arguments = options.arguments
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    sys.stdout.flush()
    environment = {**os.environ, "KUBECONFIG": state.kubeconfig}
    os.execve(kubectl, ["kubectl", *arguments], environment)  # noqa: S606 - no shell is meant


def _build(_: argparse.Namespace) -> int:
    print(ensure_binaries())
    return 0
