"""The present state of the cluster, as a picture for the view."""

from demo.view import BudgetView, NodeView, PodView, Section
from demo.watch import Watch, state_of
from intact.sandbox.scene.shards import GROUP_KEY, SHARDS


def section_of(watch: Watch, name: str, budget: BudgetView | None) -> Section:
    pods = sorted(watch.pods, key=lambda pod: pod.metadata.name)
    return Section(
        name=name,
        groups=SHARDS,
        down=tuple(watch.down.now),
        worst=watch.down.worst,
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
    )


def nodes_of(watch: Watch) -> tuple[NodeView, ...]:
    nodes = sorted(watch.nodes, key=lambda node: node.metadata.name)
    return tuple(NodeView(node.metadata.name, node.spec.unschedulable) for node in nodes)
