"""Every chapter's main.py and text run on the chapter's reference tree."""

import os
import subprocess
import sys

import pytest

from judge import notebooks
from judge import tree as trees
from judge.steps import ROOT, load

CHAPTERS = [chapter.number for chapter in load().open_chapters]


def run_main(registry, number, folder):
    chapter = registry.by_number[number]
    trees.Assembled(trees.reference(registry, number), chapter.package).write(folder)
    environment = os.environ | {"PYTHONPATH": str(folder), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-P", str(ROOT / "chapters" / chapter.slug / "main.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("number", CHAPTERS)
def test_main_runs_on_the_reference_tree(registry, number, tmp_path):
    done = run_main(registry, number, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) >= 10  # something worth looking at
    if number == 6:
        assert done.stdout.count("matches Hugging Face: True") == 2, done.stdout


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_text_executes_from_top_to_bottom(registry, number):
    chapter = registry.by_number[number]
    notebook = notebooks.execute(registry, chapter, notebooks.filled_text(registry, chapter))
    pictures = sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    assert pictures >= 1
