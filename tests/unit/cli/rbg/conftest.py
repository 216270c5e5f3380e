import pytest


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of the machine that the tests run on are not asked."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
