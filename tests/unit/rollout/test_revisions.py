import msgspec
import pytest

from intact.model.rbg import RbgSpec, Role
from intact.rollout.revisions import (
    HISTORY,
    Revision,
    group_hash,
    hash_of,
    next_number,
    outlived,
    previous,
    restored,
    template_of,
)
from tests.support.rbg_objects import Json, group, kind, role

A, B, C = (Revision(f"llm-{name}", name, number) for number, name in enumerate("abc", 1))


def test_the_hash_is_of_the_content_alone() -> None:
    assert hash_of({"a": 1, "b": [1, 2]}) == hash_of({"b": [1, 2], "a": 1})
    assert hash_of({"b": [1, 2]}) != hash_of({"b": [2, 1]})


def test_the_order_of_roles_does_not_matter() -> None:
    assert group_hash({"a": "1", "b": "2"}) == group_hash({"b": "2", "a": "1"})


@pytest.mark.parametrize(
    ("present", "expected"),
    [("new", 4), ("c", 3), ("a", 4)],
    ids=["a new one", "the present one", "an earlier one, taken up again"],
)
def test_revision_numbers_count_uses(present: str, expected: int) -> None:
    assert next_number([A, B, C], present) == expected


def test_the_first_revision_has_number_one() -> None:
    assert next_number([], "a") == 1


def test_the_oldest_go_but_none_that_pods_run() -> None:
    many = [Revision(f"llm-{number}", str(number), number) for number in range(1, HISTORY + 4)]
    assert [one.number for one in outlived(many, {"2", str(HISTORY + 3)})] == [1, 3, 4]
    assert outlived(many[:HISTORY], set()) == []


def test_an_undo_goes_to_the_one_before() -> None:
    assert previous([A, C, B], "c") is B
    assert previous([A, C, B], "c", 1) is A


def test_an_undo_to_nothing_says_what_there_is() -> None:
    with pytest.raises(LookupError, match="no revision 7; known revisions: 1, 2"):
        previous([A, B], "b", 7)
    with pytest.raises(LookupError, match="no earlier"):
        previous([A], "a")


def test_a_revision_restores_what_its_pods_were_and_nothing_else() -> None:
    sets = {"size": 2, "patchLeaderTemplate": {"metadata": {"labels": {"leads": "yes"}}}}
    before = group(
        "llm",
        role("prefill", 4, image="engine:1"),
        role("decode", 2, leaderWorkerSet=sets, **kind("LeaderWorkerSet")),
    )["spec"]
    data = {"roles": {one.name: template_of(one) for one in _roles(before)}}
    after = group(
        "llm",
        role("prefill", 6, image="engine:2", **kind("Deployment")),
        role("decode", 3, image="engine:2"),
        role("router", 1, image="engine:2"),
        paused=True,
    )["spec"]
    found = restored(after, data)
    assert [one.replicas for one in _roles(found)] == [6, 3, 1]
    assert found["paused"]
    kept = {one.name: hash_of(template_of(one)) for one in _roles(found)}
    assert kept["router"] == hash_of(template_of(_roles(after)[2]))
    assert {name: kept[name] for name in data["roles"]} == {
        name: hash_of(one) for name, one in data["roles"].items()
    }
    # And the other way round, where there was no set.
    data = {"roles": {one.name: template_of(one) for one in _roles(after)}}
    back = {one.name: hash_of(template_of(one)) for one in _roles(restored(before, data))}
    assert back == {name: hash_of(data["roles"][name]) for name in back}


def _roles(spec: Json) -> list[Role]:
    return msgspec.convert(spec, RbgSpec).roles


def test_a_restart_policy_is_part_of_a_revision_only_where_it_changes_the_set() -> None:
    plain = role("decode", leaderWorkerSet={"size": 2}, **kind("LeaderWorkerSet"))
    [before, same, other, elsewhere] = _roles(
        group(
            "llm",
            plain,
            plain | {"name": "b", "restartPolicy": "RecreateRoleInstanceOnPodRestart"},
            plain | {"name": "c", "restartPolicy": "None"},
            role("d", restartPolicy="None"),
        )["spec"]
    )
    assert template_of(before) == template_of(same)
    assert template_of(other) == template_of(before) | {"restartPolicy": "None"}
    assert "restartPolicy" not in template_of(elsewhere)
    spec = {"roles": [plain | {"restartPolicy": "None"}]}
    [back] = restored(spec, {"roles": {"decode": template_of(before)}})["roles"]
    assert "restartPolicy" not in back
    [again] = restored({"roles": [back]}, {"roles": {"decode": template_of(other)}})["roles"]
    assert again["restartPolicy"] == "None"


def test_a_template_by_reference_stays_one_unless_the_revision_has_another() -> None:
    given = {"name": "prefill", "templateRef": {"name": "base"}, "templatePatch": {}}
    earlier = {"template": {"spec": {}}, "workload": "StatefulSet"}
    spec, data = {"roles": [given]}, {"roles": {"prefill": earlier}}
    assert restored(spec, data, ["prefill"]) == spec
    assert restored(spec, data)["roles"] == [{"name": "prefill", "template": {"spec": {}}}]
