"""The option to replay one seed, and quiet runs."""

import gc
import logging
from collections.abc import Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="run the simulation with this seed alone")


@pytest.fixture
def quiet() -> Iterator[None]:
    """No log lines of operators in trouble, of which there are thousands. Each run collects its
    garbage: freezing keeps that from looking at all that was imported."""
    logging.disable(logging.ERROR)
    gc.freeze()
    yield
    gc.unfreeze()
    logging.disable(logging.NOTSET)
