"""The author's guards: each has a test that makes it go red."""

import shutil
import subprocess
import sys

import pytest

from judge import build, notebooks
from judge.steps import ROOT
from judge.tests.test_run import LINKED


@pytest.fixture
def checkout(tmp_path):
    """A checkout with everything that `build` reads; the generated files are those of this repository."""
    copy = tmp_path / "checkout"
    left_out = {ROOT / name for name in (*LINKED, ".git", ".progress", "build")}
    shutil.copytree(ROOT, copy, ignore=lambda folder, names: [n for n in names if n == "__pycache__" or build.Path(folder, n) in left_out])
    return copy


def run_build(checkout, *arguments):
    command = [sys.executable, str(checkout / "judge" / "build.py"), "--no-notebooks", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=checkout)
    return done.returncode, done.stdout + done.stderr


def edit(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_everything_is_up_to_date_and_nothing_is_touched(checkout):
    before = {p: p.stat().st_mtime_ns for p in checkout.rglob("*.py")}
    assert run_build(checkout) == (0, "build: everything is up to date\n")
    assert {p: p.stat().st_mtime_ns for p in checkout.rglob("*.py")} == before


def test_a_changed_solution_reaches_the_snapshots(checkout):
    edit(checkout / "solutions/01_core/minisgl/core.py", "One request, from admission", "A request, from admission")
    code, text = run_build(checkout, "--check")
    assert code == 1 and "make build" in text and "chapters/06_engine/minisgl/core.py" in text
    assert run_build(checkout)[0] == 0
    assert "A request, from admission" in (checkout / "chapters/06_engine/minisgl/core.py").read_text()
    assert run_build(checkout, "--check")[0] == 0


def test_drift_between_two_versions_is_named(checkout):
    edit(checkout / "solutions/03_models/minisgl/models/decoder.py", "class DecoderLayer(BaseOP):", "class DecoderLayer(BaseOP):\n    extra = 1\n")
    code, text = run_build(checkout)
    assert code == 1 and "DecoderLayer differs from the version before chapter 3" in text and "`changes`" in text


def test_a_stray_file_is_noticed_and_removed(checkout):
    stray = checkout / "chapters/02_layers/minisgl/left_over.py"
    stray.write_text("x = 1\n")
    assert "left_over.py" in run_build(checkout, "--check")[1]
    assert run_build(checkout)[0] == 0 and not stray.exists()


def test_an_undeclared_and_a_missing_solution_file(checkout):
    (checkout / "solutions/01_core/minisgl/more.py").write_text("x = 1\n")
    assert "not declared" in run_build(checkout)[1]
    (checkout / "solutions/01_core/minisgl/more.py").unlink()
    (checkout / "solutions/01_core/minisgl/core.py").unlink()
    assert "declared in steps.toml, but it is not there" in run_build(checkout)[1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("core.py:SamplingParams.is_greedy", "core.py:SamplingParams.is_greedi", "no definition of SamplingParams.is_greedi"),
        ("core.py:SamplingParams.is_greedy", "core.py:Context.batch", "belongs to another exercise too"),
    ],
)
def test_a_wrong_name_in_write(checkout, old, new, words):
    edit(checkout / "steps.toml", old, new)
    code, text = run_build(checkout)
    assert code == 1 and words in text


def test_hidden_tests_that_check_nothing(checkout):
    file = next((checkout / "judge/hidden/ch01").glob("test_140_*.py"))
    text = file.read_text()
    for addition, words in (
        ('def test_empty(tree):\n    """It holds"""\n', "checks nothing"),
        ("def test_silent(tree):\n    assert tree\n", "no docstring"),
        ('def test_twice(tree):\n    """A"""\n    assert tree\n\n\ndef test_twice(tree):\n    """B"""\n    assert tree\n', "hides the first"),
        ("import nothing_there\n", "cannot be collected"),
    ):
        file.write_text(text + "\n\n" + addition)
        code, told = run_build(checkout)
        assert code == 1 and words in told, told
    file.unlink()
    assert "exactly one" in run_build(checkout)[1]


def test_a_new_check_must_be_in_the_manifest(checkout):
    file = next((checkout / "judge/hidden/ch01").glob("test_140_*.py"))
    file.write_text(file.read_text() + '\n\ndef test_more(tree):\n    """More"""\n    assert tree\n')
    done = subprocess.run([sys.executable, str(checkout / "judge/run.py"), "140", "--solution"], capture_output=True, text=True, check=False)
    assert done.returncode == 70 and "make build" in done.stdout
    assert run_build(checkout)[0] == 0
    assert '"test_more"' in (checkout / "judge/hidden/manifest.json").read_text()


def test_listings_are_kept_equal_to_the_source(checkout):
    text = checkout / "chapters/01_core/README.md"
    before = text.read_text()
    assert "listing=core.py:" in before
    edit(checkout / "solutions/01_core/minisgl/core.py", "if self._batch is not None:", "if None is not self._batch:")
    assert run_build(checkout)[0] == 0
    assert "if None is not self._batch:" in text.read_text()
    edit(text, "listing=core.py:", "listing=core.py:Nothing.")
    code, told = run_build(checkout)
    assert code == 1 and "defines no Nothing." in told and "01_core/README.md" in told


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<details><summary>The code of <code>rms_norm</code> (solves exercise 130)</summary>\n", "", "solves exercise 130 and is not folded"),
        ("<code>rms_norm</code> (solves exercise 130)", "<code>rms_norm</code>", "must say '(solves exercise 130)'"),
        ("<code>rms_norm</code> (solves exercise 130)", "<code>rms_norm</code> (solves exercise 131)", "must say '(solves exercise 130)'"),
        ("(solves exercise 130)</summary>\n\n", "(solves exercise 130)</summary>\n", "needs an empty line"),
        ("listing=tiny_engine.py:TinyEngine.mlp", "listing=tiny_engine.py:TinyEngine", "solves exercise 139 and is not folded"),
        ("listing=tiny_engine.py:TinyEngine.mlp", "listing=tiny_engine.py", "solves exercises 130 and 131 and 132 and 133 and 139 and is not folded"),
    ],
)
def test_a_listing_that_solves_an_exercise_is_folded(checkout, old, new, words):
    text = checkout / "chapters/00_tiny_engine/README.md"
    edit(text, old, new)
    target = "tiny_engine.py:rms_norm" if "rms_norm" in old or "130" in old else new.removeprefix("listing=")
    line = next(i for i, row in enumerate(text.read_text().splitlines(), 1) if row == f"```py listing={target}")
    code, told = run_build(checkout)
    assert code == 1 and words in told and f"chapters/00_tiny_engine/README.md:{line}: listing={target}" in told, told


def test_a_cell_that_fails_names_the_chapter(registry):
    with pytest.raises(notebooks.TextError, match=r"01_core/README.md: a cell fails(.|\n)*ZeroDivisionError"):
        notebooks.execute(registry, registry.by_number[1], "# Title\n\n```python\n1 / 0\n```\n")


def test_a_notebook_runs_on_its_chapters_tree(registry):
    source = "# T\n\n```python\nimport os, minisgl\nprint(sorted(os.listdir(os.path.dirname(minisgl.__file__))), os.path.basename(os.getcwd()))\n```\n"
    notebook = notebooks.execute(registry, registry.by_number[1], source)
    assert "['__init__.py', 'core.py'] 01_core" in notebook.cells[-1].outputs[0].text


def test_every_notebook_has_something_to_look_at(registry):
    import nbformat

    for chapter in registry.open_chapters:
        notebook = nbformat.read(notebooks.notebook_path(chapter), as_version=4)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert any("image/png" in output.get("data", {}) for output in outputs), chapter.slug
        assert not [output for output in outputs if output.output_type == "error"]
        text = str(outputs)
        assert str(ROOT) not in text and "/tmp/" not in text, chapter.slug
