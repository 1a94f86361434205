"""Differences function by function, the learner's engine, and what the progress file says about a pass."""

import shutil

import pytest

from judge import differ
from judge import tree as trees
from judge.progress import Progress
from judge.tests.test_run import SAMPLE, make_checkout, run
from judge.verdict import Status, Verdict


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return make_checkout(tmp_path_factory.mktemp("differ"))


def test_chapters_tell_new_files_and_changed_symbols(registry):
    titles = [difference.title for difference in differ.chapters(registry, 2, 3)]
    assert any(title.startswith("new      models/weight.py") and "load_weight" in title for title in titles)
    assert any(title == "added    models/config.py: ModelConfig.from_hf" for title in titles)
    assert not any("core.py" in title for title in titles)
    assert differ.chapters(registry, 3, 3) == []


def test_the_solution_is_shown_symbol_by_symbol(registry):
    found = differ.mine(registry, registry.exercises[190], "solution")
    assert [d.title.rsplit(" ", 1)[1] for d in found] == ["Sampler.prepare", "Sampler.sample", "sample_torch"]
    assert all(any(line.startswith("+") for line in d.lines) for d in found)
    assert differ.mine(registry, registry.exercises[190], "skeleton")[0].lines == ()


def test_after_a_pass_the_solution_is_shown(checkout):
    solution = checkout / "solutions/06_engine/minisgl/engine/sample.py"
    (checkout / SAMPLE).write_text(solution.read_text().replace("tokens = greedy_tokens(logits)", "tokens = greedy_tokens(logits)  # mine", 1))
    assert "sample_torch" not in [line.split(": ")[-1] for line in run(checkout, "190", "--diff", code=0).splitlines()[:1]]
    run(checkout, "190", code=0)
    assert "sample.py: sample_torch" in run(checkout, "190", "--diff", code=0)


def test_commands(checkout):
    assert "models/weight.py" in run(checkout, "--diff", "chapters", "2", "3", code=0)
    assert "two numbers" in run(checkout, "--diff", "chapters", "2", code=2)
    assert "not open" in run(checkout, "--diff", "chapters", "6", "7", code=2)
    assert "--diff solution" in run(checkout, "190", "--diff", "solutoin", code=2)


def test_the_learners_engine(checkout):
    shutil.copyfile(checkout / "solutions/06_engine/minisgl/engine/sample.py", checkout / SAMPLE)
    text = run(checkout, "--engine", code=0)
    assert "46 files, 1 of them yours" in text and f"yours  {SAMPLE}" in text
    assert len(list((checkout / "build/engine/minisgl").rglob("*.py"))) == 46
    (checkout / "full").mkdir()
    (checkout / "full/notes.txt").write_text("mine")
    assert "name another folder" in run(checkout, "--engine", "full", code=2)


def test_a_pass_that_changed_since(registry, tmp_path, monkeypatch):
    exercise = registry.exercises[190]
    chapter = registry.chapter_of(exercise)
    copy = tmp_path / "chapter"
    shutil.copytree(chapter.folder("chapters"), copy)
    monkeypatch.setattr(type(chapter), "folder", lambda self, base: copy)
    file = copy / "engine/sample.py"
    progress = Progress(tmp_path)
    progress.record(exercise, chapter, Verdict(190, "", Status.PASS))
    assert progress.states(registry)[190].done
    text = file.read_text()
    file.write_text(text.replace("TODO 195", "TODO 195 (changed)"))  # a sibling's symbol does not count
    assert progress.states(registry)[190].done
    file.write_text(text.replace("TODO 190", "TODO 190 (changed)"))
    assert progress.states(registry)[190].note == "changed since"
    file.write_text(text)
    progress.record(exercise, chapter, Verdict(190, "", Status.FAIL, base="mine"))
    assert progress.states(registry)[190].note == "on the reference's base only"
    progress.save()
    assert Progress(tmp_path).states(registry)[190].status == "pass"


def test_pieces_come_in_the_order_of_the_chapters(registry):
    found = trees.pieces(registry, registry.exercises[199])
    numbers = [chapter.number for chapter, _ in found]
    assert numbers == sorted(numbers) and numbers[0] == 1 and numbers[-1] == 6
    assert ("engine/engine.py") not in [path for chapter, path in found if chapter.number == 6]
