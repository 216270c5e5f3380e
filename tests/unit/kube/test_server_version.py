"""Which versions of the API server Intact can work with."""

import pytest

from intact.kube.client import Client
from intact.kube.server_version import is_known, refusal, server_version
from intact.sandbox import MemoryApi


@pytest.mark.parametrize(
    ("version", "known", "refused"),
    [
        ("v1.30.0", True, False),
        ("v1.30.14-gke.100", True, False),
        ("v1.36.3-eks-1", True, False),
        ("v2.0.0", True, False),
        ("1.9.11", True, True),
        ("v1.29.15", True, True),
        ("", False, False),
        ("unknown", False, False),
    ],
)
def test_versions(version: str, known: bool, refused: bool) -> None:
    assert is_known(version) is known
    why = refusal(version)
    assert why == (f"{version}: Intact needs Kubernetes 1.30 or later" if refused else "")


async def test_the_server_is_asked() -> None:
    assert await server_version(Client(MemoryApi())) == "v1.36.3"
