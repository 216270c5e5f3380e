"""What `intact why` says about a pod, a node or a group."""

from intact.cli.dashboard.moment import Moment
from intact.cli.dashboard.views.parts import Unknown, Values, bar
from intact.cli.why.group import about_groups
from intact.cli.why.node import about_node
from intact.cli.why.pod import about_pod
from intact.cli.why.report import Report


def why_pod(moment: Moment, namespace: str, name: str) -> Values:
    for pod in moment.objects.pods:
        if (pod.metadata.namespace, pod.metadata.name) == (namespace, name):
            found = about_pod(moment.picture, pod, moment.now)
            verdict = moment.judge.of(pod)
            return _said(f"pod {name} in {namespace}", found) | {
                "budgets": [bar(one.budget) for one in verdict.budgets],
                "node": pod.spec.node_name,
                "group": verdict.group and (verdict.group.namespace, verdict.group.name),
            }
    raise Unknown(f"there is no pod {name} in namespace {namespace}")


def why_node(moment: Moment, name: str) -> Values:
    for node in moment.objects.nodes:
        if node.metadata.name == name:
            return _said(f"node {name}", about_node(moment.picture, node, moment.now))
    raise Unknown(f"there is no node {name}")


def why_group(moment: Moment, namespace: str, name: str) -> Values:
    groups = [
        one for one in moment.picture.groups if (one[0].namespace, one[0].name) == (namespace, name)
    ]
    if not groups:
        raise Unknown(f"there is no group {name} in namespace {namespace}")
    found = about_groups(moment.picture, groups, moment.now)
    budgets = {one.reference: bar(one) for _unit, those in groups for one in those}
    return _said(f"group {name} in {namespace}", found) | {"budgets": list(budgets.values())}


def _said(what: str, found: Report) -> Values:
    word = found.document["verdict"] or "not known"
    return {
        "what": what,
        "word": word,
        "kind": word.replace(" ", "-"),
        "lines": found.lines,
        "budgets": [],
        "node": "",
        "group": None,
    }
