"""Whose definition a CRD is, and what is said about another product's."""

import pytest

from intact.operator.install.crds import definitions
from intact.operator.install.foreign import CONTROLLER_OF, is_ours, refusal
from tests.support.objects import Json

PUB, RBG = "podunavailablebudgets.policy.kruise.io", "rolebasedgroups.workloads.x-k8s.io"
BY_NAME = {each["metadata"]["name"]: each for each in definitions()}


def crd(name: str, *versions: str, stored: tuple[str, ...] = (), **metadata: object) -> Json:
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"versions": [{"name": each} for each in versions]},
        "status": {"storedVersions": [*stored]},
    }


LABELLED = {"labels": {"app.kubernetes.io/name": "intact"}}
APPLIED = {"managedFields": [{"manager": "intact", "operation": "Apply"}]}
BY_HAND = {"managedFields": [{"manager": "intact", "operation": "Update"}]}
THEIRS = {"annotations": {"controller-gen.kubebuilder.io/version": "v0.16.5"}}


def test_every_definition_belongs_to_a_controller_and_has_our_label() -> None:
    assert CONTROLLER_OF.keys() == BY_NAME.keys()
    assert all(is_ours(each) for each in BY_NAME.values())


@pytest.mark.parametrize(
    ("metadata", "ours"),
    [
        (LABELLED, True),
        (APPLIED, True),
        (BY_HAND, False),
        (THEIRS, False),
        ({}, False),
        ({"labels": None, "managedFields": None}, False),
    ],
)
def test_what_intact_has_applied_or_labelled_is_its_own(metadata: Json, ours: bool) -> None:
    found = crd(RBG, "v1alpha1", stored=("v1alpha1",), **metadata)
    assert is_ours(found) is ours
    assert bool(refusal(found, BY_NAME[RBG])) is not ours


@pytest.mark.parametrize(
    ("name", "versions", "parts"),
    [
        (
            RBG,
            ("v1alpha1", "v1alpha2"),
            (
                f"the CRD {RBG} with versions v1alpha1, v1alpha2 (v1alpha2 stored)",
                "did not install (sgl-project/rbg's?)",
                "Intact has version v1alpha1",
                "--controllers without rbg",
                f"kubectl label crd {RBG} app.kubernetes.io/name=intact",
            ),
        ),
        (
            PUB,
            ("v1alpha2",),
            (
                f"the CRD {PUB} with version v1alpha2 (v1alpha2 stored)",
                "OpenKruise's?",
                "Intact has versions v1alpha1, v1beta1",
                "--controllers without pub",
            ),
        ),
    ],
)
def test_the_refusal_names_crd_versions_and_what_to_do(
    name: str, versions: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    said = refusal(crd(name, *versions, stored=("v1alpha2",), **THEIRS), BY_NAME[name])
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("versions", "stored"),
    [(("v1alpha1", "v9"), ("v1alpha1",)), (("v1alpha1",), ("v1alpha1", "v9"))],
)
def test_a_version_that_this_release_does_not_know_is_never_dropped(
    versions: tuple[str, ...], stored: tuple[str, ...]
) -> None:
    """Also not of a definition that the user has labelled as Intact's."""
    said = refusal(crd(RBG, *versions, stored=stored, **LABELLED), BY_NAME[RBG])
    assert "this release of Intact does not know v9" in said
