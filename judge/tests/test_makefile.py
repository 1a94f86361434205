"""The short commands: typos fail before anything runs, and a status survives make."""

import shutil
import subprocess

import pytest

from judge.steps import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*goals):
    done = subprocess.run(["make", "-n", *goals], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        (["bogus"], "unknown goal 'bogus'"), (["chapter"], "which one?"), (["chapter", "six"], "not 'six'"), (["chapter", "6", "7"], "one number"),
        (["judge", "190", "test"], "one number"), (["setup", "bogus"], "unknown goal 'bogus'"), (["6"], "unknown goal '6'"), (["list", "chapters"], "unknown goal"),
    ],
)  # fmt: skip
def test_typos_fail_before_anything_runs(goals, words):
    code, text = make(*goals)
    assert code == 2 and words in text and "judge/run.py" not in text


@pytest.mark.parametrize(
    ("goals", "command"),
    [
        (["judge", "190"], "judge/run.py 190"), (["judge", "N=190"], "judge/run.py 190"), (["chapter", "6"], "judge/run.py 6 --main"),
        (["hint", "190"], "judge/run.py 190 --hint"), (["next"], "judge/run.py next"), (["list"], "judge/run.py --list"), (["build"], "judge/build.py"),
    ],
)  # fmt: skip
def test_goals(goals, command):
    code, text = make(*goals)
    assert code == 0 and command in text


def test_make_alone_is_help():
    code, text = make()
    assert code == 0 and "awk" in text
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for goal in ("setup", "chapter", "judge", "next", "hint", "diff", "reset", "notebook", "list", "build", "check", "test", "clean"):
        assert f"make {goal}" in done.stdout
