"""The browser of a test."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from tests.support.browser import Browser, executable, launched

_MISSING = "chromium is not installed; make test-page installs it"


@pytest.fixture
def browser(runner: asyncio.Runner) -> Iterator[Browser]:
    """On the loop of the test, and so for one test: Playwright cannot change loops."""
    path = executable()
    if path is None:
        if os.environ.get("PAGE_TESTS") == "required":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    running = launched(path)
    yield runner.run(running.__aenter__())
    runner.run(running.__aexit__(None, None, None))
