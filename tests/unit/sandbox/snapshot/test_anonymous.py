"""Nothing of the original's names survives, and everything that belonged together still does."""

import json
import re

from intact.sandbox.snapshot.anonymous import anonymized
from intact.sandbox.snapshot.document import Json, KindInfo, Snapshot, Unreadable, encode
from tests.support.small_clusters import LWS, SmallCluster

NAMES = re.compile(
    r"acme|checkout|prefill|tundra|taiga|gpu-pool|secretive|zebra|registry|frankfurt|osprey|walrus",
    re.IGNORECASE,
)
"""Every name, value and key that a person chose below has one of these words."""
TRAINING = KindInfo("acme.example", "v1", "walruses", "Walrus", scaled=True)


def original() -> Snapshot:
    made = SmallCluster(nodes=0)
    for name in ("tundra-1", "tundra-2"):
        node = made.node(name)
        node["metadata"]["labels"] |= {
            "topology.kubernetes.io/zone": "frankfurt-a",
            "acme.example/gpu-pool": "osprey",
            "node-role.kubernetes.io/gpu-pool": "",
        }
        node["status"]["allocatable"]["acme.example/zebra"] = "4"
    made.put("Namespace", "acme-prod", namespace="", metadata={
        "labels": {"kubernetes.io/metadata.name": "acme-prod"}})  # fmt: skip
    spread = {
        "topologyKey": "topology.kubernetes.io/zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "checkout"}},
    }
    term = {"key": "acme.example/gpu-pool", "operator": "In", "values": ["osprey"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [term]}]
            }
        }
    }
    taint = {"key": "acme.example/zebra", "operator": "Equal", "value": "osprey",
             "effect": "NoSchedule"}  # fmt: skip
    pod_spec = {
        "topologySpreadConstraints": [spread],
        "affinity": affinity,
        "tolerations": [taint],
        "nodeSelector": {"kubernetes.io/hostname": "tundra-1"},
    }
    made.stateful_set(
        "checkout",
        ["tundra-1", "tundra-2"],
        {"acme.example/team": "taiga", "app": "checkout", f"{LWS}/group-key": "zebra"},
        spec=pod_spec,
        annotations={f"{LWS}/size": "2", f"{LWS}/exclusive-topology": "acme.example/gpu-pool"},
    )
    budget = made.pdb("secretive", {"app": "checkout"}, scope="Workload", maxUnavailable="25%")
    budget["metadata"]["annotations"] = {
        "intact.dev/group-label-key": "acme.example/team",
        "intact.dev/enforcement": "Warn",
        "intact.dev/ledger": '{"pods": {"checkout-0": 1}}',
        "intact.dev/replicas": '{"expectedReplicas":2}',
    }
    budget["status"]["disruptedPods"] = {"checkout-0": "2026-01-01T00:00:00Z"}
    made.pub("osprey", {"app": "checkout"}, "acme.example/team", 2, maxUnavailable=1)
    found = made.snapshot()
    owner = {"apiVersion": "acme.example/v1", "kind": "Walrus", "metadata": {
        "name": "zebra", "namespace": "acme-prod",
        "uid": "00000000-0000-4000-8000-00000000abcd"}}  # fmt: skip
    found.kinds.append(TRAINING)
    found.objects[TRAINING.full_name] = [owner]
    found.unreadable.append(Unreadable("walruses.acme.example", "acme says no"))
    found.of("pods")[1]["metadata"]["ownerReferences"] = [
        {"apiVersion": "acme.example/v1", "kind": "Walrus", "name": "zebra", "controller": True,
         "uid": "00000000-0000-4000-8000-00000000abcd"}
    ]  # fmt: skip
    return found


def test_nothing_that_a_person_chose_survives() -> None:
    before, after = original(), anonymized(original())
    assert len(NAMES.findall(encode(before).decode())) > 50
    assert NAMES.findall(encode(after).decode()) == []
    assert after.anonymized


def test_what_belongs_together_still_does() -> None:
    after = anonymized(original())
    [stateful_set] = after.of("statefulsets.apps")
    name = stateful_set["metadata"]["name"]
    first, second = after.of("pods")
    assert first["metadata"]["name"] == f"{name}-0"
    assert first["metadata"]["ownerReferences"][0]["name"] == name
    labels = first["metadata"]["labels"]
    assert stateful_set["spec"]["selector"]["matchLabels"].items() <= labels.items()
    nodes = {each["metadata"]["name"]: each for each in after.of("nodes")}
    node = nodes[first["spec"]["nodeName"]]
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == first["spec"]["nodeName"]
    assert first["spec"]["nodeSelector"]["kubernetes.io/hostname"] in nodes
    [term] = first["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"][0]["matchExpressions"]
    assert [node["metadata"]["labels"][term["key"]]] == term["values"]
    [pdb] = after.of("poddisruptionbudgets.policy")
    assert pdb["spec"]["selector"]["matchLabels"].items() <= labels.items()
    key = pdb["metadata"]["annotations"]["intact.dev/group-label-key"]
    assert key in labels
    [pub] = after.of("podunavailablebudgets.policy.kruise.io")
    assert pub["spec"]["podGroupPolicy"]["groupLabelKey"] == key
    [revision] = after.of("controllerrevisions.apps")
    assert labels["controller-revision-hash"] == revision["metadata"]["name"]
    [walrus] = [each for each in after.kinds if "walrus" not in each.plural and each.scaled
                and each.group.count(".") and "k8s" not in each.group]  # fmt: skip
    [owner] = second["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"]) == (walrus.api_version, walrus.kind)
    assert after.of(walrus.full_name)[0]["metadata"]["name"] == owner["name"]


def test_what_has_a_meaning_stays() -> None:
    after = anonymized(original())
    text = json.dumps(after.objects)
    for kept in (
        "topology.kubernetes.io/zone",
        f"{LWS}/group-key",
        "DoNotSchedule",
        "NoSchedule",
        "default-scheduler",
        '"kube-system"',
        '"25%"',
        "64Gi",
    ):
        assert kept in text
    [pdb] = after.of("poddisruptionbudgets.policy")
    annotations = pdb["metadata"]["annotations"]
    assert pdb["metadata"]["labels"]["intact.dev/budget-scope"] == "Workload"
    assert annotations["intact.dev/enforcement"] == "Warn"
    assert annotations["intact.dev/replicas"] == '{"expectedReplicas":2}'
    assert "intact.dev/ledger" not in annotations
    assert list(pdb["status"]["disruptedPods"]) == [after.of("pods")[0]["metadata"]["name"]]
    [time] = pdb["status"]["disruptedPods"].values()
    assert time == "2026-01-01T00:00:00Z"


def test_the_original_is_not_changed() -> None:
    before = original()
    anonymized(before)
    assert encode(before) == encode(original())


def test_resources_keep_their_amounts_under_the_new_names() -> None:
    node: Json = anonymized(original()).of("nodes")[0]
    room = node["status"]["allocatable"]
    assert (room["cpu"], room["pods"]) == ("8", "110")
    assert list(room.values()).count("4") == 1


def test_words_of_people_in_keys_conditions_and_images_are_replaced() -> None:
    made = SmallCluster()
    node = made.objects["nodes"][0]
    node["metadata"]["labels"] |= {
        "acme/team": "red",
        "node-restriction.kubernetes.io/acme": "x",
        "topology.kubernetes.io/zone": "acme-1",
    }
    node["status"]["allocatable"]["acme/fpga"] = "1"
    node["status"]["conditions"].append({"type": "AcmeOk", "status": "True", "reason": "AcmeSays"})
    made.pod("one", "node-0", spec={"readinessGates": [{"conditionType": "AcmeOk"}]})
    [pod] = made.objects["pods"]
    pod["spec"]["containers"][0]["image"] = "123456789012.dkr.acme.com/acme:1"
    found = anonymized(made.snapshot())
    text = encode(found).decode()
    assert "acme" not in text.lower()
    assert "123456789012" not in text
    assert "topology.kubernetes.io/zone" in text
    conditions = found.of("nodes")[0]["status"]["conditions"]
    assert conditions[0]["type"] == "Ready"
    [gate] = found.of("pods")[0]["spec"]["readinessGates"]
    assert gate["conditionType"] == conditions[1]["type"]
