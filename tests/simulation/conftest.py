"""How many runs, or which one."""

import gc
import logging
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="run the simulation with this seed alone")


@pytest.fixture
def quiet() -> Iterator[None]:
    """What replicas log about their troubles is of no use by the thousand. And each run collects
    its garbage, which must not cost a look at everything else that is there."""
    logging.disable(logging.ERROR)
    gc.freeze()
    yield
    gc.unfreeze()
    logging.disable(logging.NOTSET)
