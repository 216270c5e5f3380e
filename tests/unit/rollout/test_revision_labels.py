"""The revision that routers read on a pod: the one of the template that it is made from."""

import msgspec
import pytest

from intact.model.meta import ObjectMeta
from intact.model.pod import Pod
from intact.model.rbg import RbgStatus, RoleBasedGroup
from intact.model.role_workload import ControllerRevision
from intact.rollout.names import REVISION
from intact.rollout.revision_labels import label_of_new, labels_of, relabelled
from intact.rollout.revisions import group_hash, hash_of, role_hashes, template_of
from tests.support.rbg_objects import group, role, rolling
from tests.unit.rollout.scene import pod

IMAGES = [("engine:1", "engine:1"), ("engine:2", "engine:1"), ("engine:2", "engine:3")]
"""Of prefill and decode, oldest first."""


def made(prefill: str, decode: str, *, complete: bool = False) -> RoleBasedGroup:
    roles = role("prefill", 4, image=prefill), role("decode", 2, image=decode)
    body = group("llm", *roles, coordination=[rolling("prefill", "decode")])
    found = msgspec.convert(body, RoleBasedGroup)
    name = f"llm-{group_hash(role_hashes(found))}"
    status = RbgStatus(update_revision=name, current_revision=name if complete else "llm-before")
    return msgspec.structs.replace(found, status=status)


GROUPS = [made(*images) for images in IMAGES]
HASHES = [role_hashes(one) for one in GROUPS]
LABELS = [group_hash(one) for one in HASHES]
HISTORY = [
    ControllerRevision(
        metadata=ObjectMeta(name=f"llm-{number}"),
        revision=number,
        data={"roles": {role.name: template_of(role) for role in one.spec.roles}},
    )
    for number, one in enumerate(GROUPS)
]


def there(name: str, *at: int, labelled: bool = True, ready: bool = True) -> list[Pod]:
    """Pods of these revisions, with their labels."""
    return [
        pod(
            name,
            index,
            HASHES[number][name],
            ready=ready,
            labels={REVISION: LABELS[number]} if labelled else {},
        )
        for index, number in enumerate(at)
    ]


def new(
    name: str, made_from: int, present: RoleBasedGroup = GROUPS[-1], **pods: list[Pod]
) -> str | None:
    """The label of a new pod, while the last revision is rolled out."""
    [coordination] = present.spec.coordination
    found: dict[str, list[Pod]] = {"prefill": [], "decode": []} | pods
    template = HASHES[made_from][name]
    return label_of_new(present, coordination, name, template, found, HISTORY)


def test_a_changing_role_has_the_label_of_the_template() -> None:
    decode = there("decode", 1, 2)
    assert new("decode", 2, decode=decode) == LABELS[2]
    assert new("decode", 1, decode=decode) == LABELS[1]


def test_an_old_pod_has_what_the_others_of_its_template_have() -> None:
    """Decode had the same template in two revisions."""
    assert new("decode", 1, decode=there("decode", 0, 2)) == LABELS[0]
    assert new("decode", 1) == LABELS[1], "the newest, if no pod tells"


def test_a_label_that_no_revision_has_is_not_copied() -> None:
    forged = pod("decode", 0, HASHES[1]["decode"], labels={REVISION: "forged"})
    assert new("decode", 1, decode=[forged]) == LABELS[1]


@pytest.mark.parametrize(
    ("decode", "prefill", "expected"),
    [
        pytest.param((1, 1), (1, 1, 1), 1, id="nothing has moved"),
        pytest.param((1, 2), (1, 1, 1), 2, id="half has moved"),
        pytest.param((1, 2), (2, 2, 1), 1, id="half has the label already"),
        pytest.param((2, 2), (2, 2, 2), 2, id="all have moved"),
    ],
)
def test_a_role_that_does_not_change_is_in_step(
    decode: tuple[int, ...], prefill: tuple[int, ...], expected: int
) -> None:
    pods = {"decode": there("decode", *decode), "prefill": there("prefill", *prefill)}
    assert new("prefill", 2, GROUPS[-1], **pods) == LABELS[expected]


def test_after_the_rollout_every_pod_has_the_present_revision() -> None:
    pods = {"decode": there("decode", 2), "prefill": there("prefill", 2, 2, 2)}
    assert new("prefill", 2, made(*IMAGES[-1], complete=True), **pods) == LABELS[2]


def test_the_label_of_an_unknown_template_is_unknown() -> None:
    present = GROUPS[-1]
    [coordination] = present.spec.coordination
    pods: dict[str, list[Pod]] = {"prefill": [], "decode": []}
    unknown = hash_of("another")
    assert label_of_new(present, coordination, "decode", unknown, pods, HISTORY) is None


def test_wrong_and_missing_labels_are_corrected_on_old_and_new_pods() -> None:
    forged = [
        pod("decode", 2, HASHES[1]["decode"], labels={REVISION: LABELS[2]}),
        pod("decode", 3, HASHES[2]["decode"], labels={REVISION: "forged"}),
        pod("decode", 4, HASHES[1]["decode"]),
        pod("decode", 5, hash_of("another"), labels={REVISION: "unknown"}),
    ]
    labels = labels_of("decode", HASHES[2], HISTORY)
    assert relabelled(labels, [*there("decode", 1, 2), *forged], 2) == {
        "llm-decode-2": LABELS[1],
        "llm-decode-3": LABELS[2],
        "llm-decode-4": LABELS[1],
    }
