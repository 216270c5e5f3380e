"""The pods of a StatefulSet."""

from intact.sandbox.controllers.stateful_pods import new_pod, ordinal, revision_of, start_of
from tests.support.objects import Json, stateful_set


def owner(**spec: object) -> Json:
    body = stateful_set("w", 3, **spec)
    body["metadata"] |= {"namespace": "n", "uid": "u"}
    return body


def test_a_pod_has_its_place() -> None:
    whole = owner(ordinals={"start": 5})
    made = new_pod(whole, whole["spec"]["template"], "w-abc", 7)
    assert start_of(whole) == 5
    assert start_of(owner()) == 0
    assert (made["metadata"]["name"], ordinal(made, whole)) == ("w-7", 7)
    assert revision_of(made) == "w-abc"
    assert ordinal({"metadata": {"name": "w-x"}}, whole) is None


def test_claims_take_the_place_of_volumes_of_the_same_name() -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    whole = owner(volumeClaimTemplates=claims)
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    whole["spec"]["template"]["spec"]["volumes"] = volumes
    assert new_pod(whole, whole["spec"]["template"], "r", 1)["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-w-1"}},
        {"name": "tmp", "emptyDir": {}},
    ]
