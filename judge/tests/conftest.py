"""Shared by the judge's own tests: the registry, and one warm judge for the whole session."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge.runner import Judge  # noqa: E402
from judge.steps import load  # noqa: E402


@pytest.fixture(scope="session")
def registry():
    return load()


@pytest.fixture(scope="session")
def judge(registry):
    warm = Judge(registry, seed=7)
    yield warm
    warm.close()
