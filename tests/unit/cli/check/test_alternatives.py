"""Which files are checked together."""

from intact.cli.check.alternatives import about, alternatives, named
from intact.cli.check.manifests import Manifest
from intact.picture.findings.finding import About


def manifest(file: str, name: str) -> Manifest:
    return Manifest(file, {"kind": "Deployment", "metadata": {"name": name}})


def test_files_that_define_different_objects_are_one_set() -> None:
    every = [manifest("a", "one"), manifest("b", "two")]
    assert list(alternatives(every)) == [every]


def test_files_that_define_the_same_object_are_alternatives() -> None:
    base, one, two = manifest("base", "x"), manifest("one", "web"), manifest("two", "web")
    assert list(alternatives([base, one, two])) == [[base, one], [base, two]]


def test_two_documents_of_one_file_are_no_alternatives() -> None:
    every = [manifest("a", "web"), manifest("a", "web")]
    assert list(alternatives(every)) == [every]


def test_an_object_without_a_namespace_has_the_given_one() -> None:
    assert about(named({"kind": "Pod", "metadata": {"name": "p"}}, "apps")) == About(
        "Pod", "apps", "p"
    )
    own = {"kind": "Pod", "metadata": {"name": "p", "namespace": "own"}}
    assert about(named(own, "apps")).namespace == "own"
    assert about(named({"kind": "Pod", "metadata": None}, "")) == About("Pod", "", "")
