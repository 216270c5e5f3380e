"""The objects that define groups, in the shape of each version of Kubernetes."""

import msgspec
import pytest

from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup, PodGroupTemplate

V1ALPHA2 = b"""{"metadata": {"name": "g"}, "spec": {
    "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
    "schedulingPolicy": {"gang": {"minCount": 4}}}}"""
V1BETA1 = b"""{"metadata": {"name": "g"}, "spec": {
    "workloadRef": {"workloadName": "w", "templateName": "t"},
    "schedulingPolicy": {"gang": {"minCount": 4}}}}"""


def test_a_pod_group_of_v1alpha2_refers_to_its_template() -> None:
    spec = msgspec.json.decode(V1ALPHA2, type=PodGroup).spec
    template = PodGroupTemplate(workload_name="w", pod_group_template_name="t")
    assert spec.pod_group_template_ref is not None
    assert (spec.pod_group_template_ref.workload, spec.workload_ref) == (template, None)


def test_a_pod_group_of_v1beta1_refers_to_its_workload() -> None:
    spec = msgspec.json.decode(V1BETA1, type=PodGroup).spec
    template = PodGroupTemplate(workload_name="w", template_name="t")
    assert (spec.workload_ref, spec.pod_group_template_ref) == (template, None)


@pytest.mark.parametrize(
    ("policy", "need"), [(b'{"gang": {"minCount": 4}}', 4), (b'{"basic": {}}', None)]
)
def test_only_a_gang_has_a_count(policy: bytes, need: int | None) -> None:
    body = b'{"metadata": {"name": "g"}, "spec": {"schedulingPolicy": %s}}' % policy
    gang = msgspec.json.decode(body, type=PodGroup).spec.scheduling_policy.gang
    assert (gang.min_count if gang is not None else None) == need


def test_a_workload_of_v1alpha1_names_its_controller_and_its_parts() -> None:
    body = b"""{"metadata": {"name": "w"}, "spec": {
        "controllerRef": {"apiGroup": "x.io", "kind": "Set", "name": "s"},
        "podGroups": [{"name": "worker", "policy": {"gang": {"minCount": 2}}}]}}"""
    spec = msgspec.json.decode(body, type=GangWorkload).spec
    assert spec.controller_ref is not None
    assert (spec.controller_ref.api_group, spec.controller_ref.kind) == ("x.io", "Set")
    [part] = spec.pod_groups
    assert part.policy.gang is not None
    assert (part.name, part.policy.gang.min_count) == ("worker", 2)


def test_a_leader_worker_set_says_how_many_groups_of_which_size() -> None:
    body = b"""{"metadata": {"name": "l"}, "spec": {
        "replicas": 3, "leaderWorkerTemplate": {"size": 8}}}"""
    spec = msgspec.json.decode(body, type=LeaderWorkerSet).spec
    assert (spec.replicas, spec.leader_worker_template.size) == (3, 8)
