"""The present state of the cluster, as a picture for the view."""

from collections.abc import Sequence

from demo.shards import GROUP_KEY, SHARDS
from demo.view import BudgetView, NodeView, Picture, PodView
from demo.watch import Watch, state_of


def take_picture(
    watch: Watch,
    *,
    title: str,
    seconds: float,
    budget: BudgetView | None,
    output: Sequence[str],
    footer: str,
) -> Picture:
    pods = sorted(watch.pods, key=lambda pod: pod.metadata.name)
    nodes = sorted(watch.nodes, key=lambda node: node.metadata.name)
    return Picture(
        title=title,
        seconds=seconds,
        groups=SHARDS,
        down=tuple(watch.down.now),
        worst=watch.down.worst,
        nodes=tuple(NodeView(node.metadata.name, node.spec.unschedulable) for node in nodes),
        pods=tuple(
            PodView(
                pod.metadata.name,
                pod.metadata.labels.get(GROUP_KEY, ""),
                pod.spec.node_name,
                state_of(pod),
            )
            for pod in pods
        ),
        budget=budget,
        output=tuple(output),
        footer=footer,
    )
