"""What people may do; on a real cluster: tests/cluster/install/test_manifests.py."""

from intact.operator.install.user_roles import user_roles

READ = {"get", "list", "watch"}


def test_those_who_view_write_nothing() -> None:
    [view] = [one for one in user_roles() if one["metadata"]["name"] == "intact-view"]
    assert all(set(rule["verbs"]) <= READ for rule in view["rules"])


def test_each_role_is_part_of_the_cluster_s_own_and_of_all_above() -> None:
    into = {
        one["metadata"]["name"]: sorted(
            key.rpartition("-")[2]
            for key in one["metadata"]["labels"]
            if key.startswith("rbac.authorization.k8s.io/aggregate-to-")
        )
        for one in user_roles()
    }
    assert into == {
        "intact-view": ["admin", "edit", "view"],
        "intact-edit": ["admin", "edit"],
        "intact-admin": ["admin"],
    }


def test_nobody_writes_a_status() -> None:
    for one in user_roles():
        for rule in one["rules"]:
            if any(resource.endswith("/status") for resource in rule["resources"]):
                assert set(rule["verbs"]) <= READ
