"""steps.toml: what is refused, and that each message names the line and the mend."""

import pytest

from judge.steps import ROOT, StepsError, load

GOOD = """
[[chapter]]
number = 1
slug = "01_core"
title = "Core"
stage = 1
new = ["core.py"]

[[chapter.exercise]]
number = 140
slug = "x"
title = "X"
difficulty = "easy"
write = ["core.py:Req.f"]
hints = ["a", "b", "c"]

[[chapter]]
number = 2
slug = "02_next"
title = "Next"
stage = 1
new = ["a.py"]
modified = ["core.py"]
changes = ["core.py:Req.f"]
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("number = 140", "number = 150", "chapter 1 owns 140 to 149"),
        ('"01_core"', '"core"', "'01_'"),
        ('difficulty = "easy"', 'difficulty = "simple"', "easy, medium, hard"),
        ('hints = ["a", "b", "c"]', 'hints = ["a"]', "give three"),
        ('write = ["core.py:Req.f"]', "write = []", "asks for nothing"),
        ('write = ["core.py:Req.f"]', 'write = ["core.py"]', "folder/file.py:Class.method"),
        ('write = ["core.py:Req.f"]', 'write = ["other.py:f"]', "neither adds nor modifies"),
        ("title =", "titel =", "did you mean 'title'"),
        ("stage = 1\nnew = [\"core", "stage = 'one'\nnew = [\"core", "stage"),
        ('slug = "x"\n', "", "'slug' is missing"),
        ('modified = ["core.py"]', 'modified = ["b.py"]', "no earlier chapter adds"),
        ('new = ["a.py"]', 'new = ["core.py"]', "under `modified`"),
        ('changes = ["core.py:Req.f"]', 'changes = ["a.py:f"]', "not under `modified`"),
        ("number = 2", "number = 1", ""),
        ('new = ["a.py"]', 'new = ["a.py"]\nearly = ["zz.py"]', "no later chapter adds"),
        ("[[chapter]]\nnumber = 1", "[chapter\nnumber = 1", "not valid TOML"),
        ("stage = 1\nnew = [\"core", "stage = true\nnew = [\"core", "stage"),
    ],
)  # fmt: skip
def test_refused(tmp_path, old, new, words):
    assert old in GOOD
    file = tmp_path / "steps.toml"
    file.write_text(GOOD)
    load(file)
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(StepsError, match="steps") as caught:
        load(file)
    assert words in str(caught.value)


def test_the_line_is_named(tmp_path):
    file = tmp_path / "steps.toml"
    file.write_text(GOOD.replace("number = 140", "number = 150"))
    with pytest.raises(StepsError) as caught:
        load(file)
    line = GOOD.splitlines().index("number = 140") + 1
    assert f"steps.toml:{line}:" in str(caught.value)


def test_duplicate_exercises_are_refused(tmp_path):
    start = GOOD.index("[[chapter.exercise]]")
    exercise = GOOD[start : GOOD.index("[[chapter]]\nnumber = 2")]
    file = tmp_path / "steps.toml"
    file.write_text(GOOD.replace(exercise, exercise + exercise))
    with pytest.raises(StepsError, match="twice"):
        load(file)


def test_the_registry(registry):
    assert [chapter.number for chapter in registry.chapters] == list(range(22))
    for exercise in registry.exercises.values():
        assert len(exercise.hints) == 3 and min(map(len, exercise.hints)) > 20, exercise.number
        assert exercise.write
    for chapter in registry.open_chapters:
        assert any(exercise.is_gate for exercise in chapter.exercises), chapter.number


def test_chapter_six_has_46_files(registry):
    from judge.tree import reference_paths

    chapter = registry.by_number[6]
    assert (len(chapter.new), len(chapter.modified), len(chapter.early)) == (5, 0, 3)
    assert len(reference_paths(registry, 6)) == 46
    assert len(list((ROOT / "chapters" / chapter.slug / "minisgl").rglob("*.py"))) == 46
