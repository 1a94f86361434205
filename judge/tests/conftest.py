"""Shared by the judge's own tests: the registry, and one warm judge for the whole session."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from judge.runner import Judge  # noqa: E402
from judge.steps import load  # noqa: E402
from judge.warm import Child, bubblewrap  # noqa: E402


@pytest.fixture(scope="session")
def registry():
    return load()


SANDBOXES = ["process", pytest.param("bwrap", marks=pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap is not installed"))]


@pytest.fixture(scope="session", params=SANDBOXES)
def judge(registry, request):
    warm = Judge(registry, Child("sandbox", sandbox=request.param), seed=7)
    yield warm
    warm.close()
