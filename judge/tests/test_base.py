"""`--base mine`: the learner's own files below an exercise, and the file at fault found by bisection."""

import shutil
import sys

import pytest

from judge.tests.test_run import make_checkout, run

ROTARY = "minisgl/layers/rotary.py"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A checkout whose chapters 1 to 6 are all written, with the reference's text."""
    checkout = make_checkout(tmp_path_factory.mktemp("mine"))
    for solution in sorted((checkout / "solutions").glob("0[1-6]_*")):
        shutil.copytree(solution / "minisgl", checkout / "chapters" / solution.name / "minisgl", dirs_exist_ok=True)
    return checkout


def test_all_mine_passes_and_counts_my_files(done):
    text = run(done, "199", "--base", "mine", code=0)
    assert "base mine" in text


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
def test_a_broken_rope_of_chapter_2_is_named(done):
    file = done / "chapters/02_layers" / ROTARY
    before = file.read_text()
    try:
        broken = before.replace(".cos()", ".SIN()").replace(".sin()", ".cos()").replace(".SIN()", ".sin()")
        assert broken != before
        file.write_text(broken)
        text = run(done, "199", "--base", "mine", code=1)
        assert "The file at fault is chapters/02_layers/minisgl/layers/rotary.py" in " ".join(text.split())
        assert "next: python judge/run.py 152" in text
    finally:
        file.write_text(before)


def test_what_is_not_written_stays_the_references(tmp_path):
    checkout = make_checkout(tmp_path)
    sample = "minisgl/engine/sample.py"
    shutil.copyfile(checkout / "solutions/06_engine" / sample, checkout / "chapters/06_engine" / sample)
    text = run(checkout, "190", "--base", "mine", code=0)
    assert "none is written yet" in text
