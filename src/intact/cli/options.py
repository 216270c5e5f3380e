"""The options that several commands share: each has one name, one help text and one meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

import click

from intact.operator.names import NAMESPACE

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster a command works on, and in which of its namespaces.

    What is None is what kubectl would take: its kubeconfig, the current context, the namespace of
    that context.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None


_KUBECONFIG = click.option(
    "--kubeconfig", metavar="FILE", help="Kubeconfig; else as kubectl finds it."
)
_CONTEXT = click.option(
    "--context", metavar="NAME", help="Context of the kubeconfig; else its current one."
)
_GROUP_NAMESPACE = click.option(
    "-n", "--namespace", metavar="NAME", help="Namespace of the group; else the context's."
)

operator_namespace = click.option(
    "--namespace",
    metavar="NAME",
    default=NAMESPACE,
    show_default=True,
    help="Namespace that Intact runs in.",
)


def cluster_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds --kubeconfig and --context. The command takes them together, as `cluster`."""

    @_KUBECONFIG
    @_CONTEXT
    @wraps(command)
    def called(kubeconfig: str | None, context: str | None, **given: object) -> R:
        return command(cluster=Cluster(kubeconfig, context), **given)

    return called


def group_options(command: Callable[..., R]) -> Callable[..., R]:
    """Adds --kubeconfig, --context and --namespace, for commands about one RoleBasedGroup. The
    command takes them together, as `cluster`."""

    @_KUBECONFIG
    @_CONTEXT
    @_GROUP_NAMESPACE
    @wraps(command)
    def called(
        kubeconfig: str | None, context: str | None, namespace: str | None, **given: object
    ) -> R:
        return command(cluster=Cluster(kubeconfig, context, namespace), **given)

    return called
