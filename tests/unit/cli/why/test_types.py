"""What is asked about: as kubectl writes it."""

import click
import pytest

from intact.cli.why.types import Asked, Type, asked


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("pod/web-0",), Asked(Type.POD, "web-0")),
        (("po", "web-0"), Asked(Type.POD, "web-0")),
        (("PODS/web-0",), Asked(Type.POD, "web-0")),
        (("no/n1",), Asked(Type.NODE, "n1")),
        (("nodes", "n1"), Asked(Type.NODE, "n1")),
        (("pub/llm",), Asked(Type.PUB, "llm")),
        (("podunavailablebudgets.policy.kruise.io/llm",), Asked(Type.PUB, "llm")),
        (("podunavailablebudget.v1alpha1.policy.kruise.io/llm",), Asked(Type.PUB, "llm")),
        (("pdb", "llm"), Asked(Type.PDB, "llm")),
        (("poddisruptionbudgets/llm",), Asked(Type.PDB, "llm")),
        (("poddisruptionbudget.policy/llm",), Asked(Type.PDB, "llm")),
        (("rbg/llm",), Asked(Type.RBG, "llm")),
        (("rolebasedgroup.workloads.x-k8s.io/llm",), Asked(Type.RBG, "llm")),
        (("group/shard-0",), Asked(Type.GROUP, "shard-0")),
        (("group", "llm/0"), Asked(Type.GROUP, "llm/0")),
    ],
)
def test_types_have_the_names_that_kubectl_takes(words: tuple[str, ...], expected: Asked) -> None:
    assert asked(words) == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("web-0",), "TYPE/NAME"),
        (("a", "b", "c"), "TYPE/NAME"),
        (("pod/a", "b"), "TYPE/NAME"),
        (("deploy/web",), "'deploy' is none of the types that why knows: pod, node, pub, pdb"),
        (("pod/",), "the name of the pod is missing"),
    ],
)
def test_what_is_not_clear_is_an_error_of_usage(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(click.UsageError, match=said):
        asked(words)
