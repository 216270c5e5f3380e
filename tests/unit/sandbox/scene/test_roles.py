"""The RoleBasedGroup of the demo."""

from intact.sandbox.kubelet.annotations import UNREADY
from intact.sandbox.scene.roles import LIMIT, ROLES, group, template


def test_its_roles_roll_out_together() -> None:
    spec = group(lambda template: template)["spec"]
    assert {role["name"]: role["replicas"] for role in spec["roles"]} == ROLES
    [rules] = spec["coordination"]
    assert rules["roles"] == list(ROLES)
    assert set(rules["strategy"].values()) == {LIMIT}


def test_a_template_of_another_image_may_be_broken() -> None:
    whole, broken = (
        template("example.org/llm:2", lambda template: template, broken=each)
        for each in (False, True)
    )
    assert whole["spec"] == broken["spec"]
    assert whole["metadata"] == {}
    assert broken["metadata"]["annotations"] == {UNREADY: "true"}
