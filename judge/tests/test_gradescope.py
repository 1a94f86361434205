"""The bundle for Gradescope: what is in it, where it looks for a student's files, and a grading from end to end."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from judge import gradescope
from judge.gradescope import Submission, Wanted
from judge.steps import ROOT, load
from judge.tests.test_run import SAMPLE
from judge.zoo import specimens

RIGHT, WRONG, MISSING, BROKEN = 141, 190, 194, 130


@pytest.fixture(scope="module")
def autograder(tmp_path_factory):
    """The bundle, made by its command and unpacked as Gradescope does; the models and the oracle's answers are what setup.sh would make."""
    folder = tmp_path_factory.mktemp("auto grader")
    zipped = folder / "gradescope.zip"
    numbers = [str(number) for number in (RIGHT, WRONG, MISSING, BROKEN)]
    subprocess.run([sys.executable, str(ROOT / "judge" / "gradescope.py"), *numbers, "--partial", "--points", "5", "--output", str(zipped)], check=True)
    source = folder / "source"
    with zipfile.ZipFile(zipped) as archive:
        for entry in archive.infolist():
            archive.extract(entry, source)
            (source / entry.filename).chmod(entry.external_attr >> 16 & 0o777)
    for model in (ROOT / "models").iterdir():
        if model.is_dir() and not model.name.startswith((".", "__")):
            (source / "models" / model.name).symlink_to(model)
    if (ROOT / ".cache").is_dir():
        shutil.copytree(ROOT / ".cache", source / ".cache")
    return folder


def grade(autograder, code=0) -> dict:
    environment = os.environ | {"AUTOGRADER_ROOT": str(autograder), "AUTOGRADER_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([str(autograder / "source" / "run_autograder")], env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads((autograder / "results" / "results.json").read_text())


def test_a_right_a_wrong_a_missing_and_a_broken_file(autograder):
    registry = load()
    submission = autograder / "submission" / "my work"
    shutil.rmtree(autograder / "submission", ignore_errors=True)
    (submission / SAMPLE).parent.mkdir(parents=True)
    shutil.copyfile(ROOT / "solutions/01_core/minisgl/core.py", submission / "core.py")
    wrong = next(s for s in specimens(registry.exercises[WRONG]) if s.path.stem == "top-p-before-top-k")
    (submission / SAMPLE).write_bytes(wrong.sources(registry)["engine/sample.py"])
    (submission / "tiny_engine.py").write_text("def f(:\n")
    results = grade(autograder)
    rows = {int(row["number"]): row for row in results["tests"]}
    assert list(rows) == [RIGHT, WRONG, MISSING, BROKEN] and all(row["max_score"] == 5 and row["visibility"] == "visible" for row in rows.values())
    assert (rows[RIGHT]["status"], rows[RIGHT]["score"]) == ("passed", 5)
    assert rows[WRONG]["status"] == "failed" and 0 < rows[WRONG]["score"] < 5 and wrong.header["says"][:40] in " ".join(rows[WRONG]["output"].split())
    assert rows[MISSING]["output"] == "could not grade: chapters/06_engine/minisgl/utils/device.py is not in the submission" and rows[MISSING]["score"] == 0
    assert rows[BROKEN]["output"].startswith("could not grade: ") and "syntax error" in rows[BROKEN]["output"] and rows[BROKEN]["score"] == 0
    assert results["score"] == 5 + rows[WRONG]["score"] and results["visibility"] == "visible"


@pytest.mark.parametrize("kind", ["empty", "link", "no folder"])
def test_nothing_to_grade(autograder, kind):
    shutil.rmtree(autograder / "submission", ignore_errors=True)
    if kind != "no folder":
        (autograder / "submission").mkdir()
    if kind == "link":
        (autograder / "submission" / "core.py").symlink_to(ROOT / "solutions/01_core/minisgl/core.py")
    results = grade(autograder)
    assert results["score"] == 0 and len(results["tests"]) == 4 and all(row["output"].startswith("could not grade: ") for row in results["tests"])


def test_a_judge_that_fails_gives_rows_too(autograder):
    shutil.rmtree(autograder / "submission", ignore_errors=True)
    (autograder / "submission").mkdir()
    shutil.copyfile(ROOT / "solutions/01_core/minisgl/core.py", autograder / "submission" / "core.py")
    run = autograder / "source" / "judge" / "run.py"
    before = run.read_text()
    main = 'if __name__ == "__main__":\n'
    assert main in before
    try:
        run.write_text(before.replace(main, f"{main}    sys.exit(9)\n"))
        results = grade(autograder)
    finally:
        run.write_text(before)
    rows = {int(row["number"]): row["output"] for row in results["tests"]}
    assert results["score"] == 0 and rows[RIGHT] == "could not grade: the autograder failed (exit code 9)" and "is not in the submission" in rows[WRONG]


def test_the_bundle_holds_skeletons_and_is_reproducible(autograder, registry, tmp_path):
    exercises = [registry.exercises[WRONG]]
    files = gradescope.bundle(registry, exercises, 10, False)
    assert b"TODO 190" in files[SAMPLE] and json.loads(files["gradescope.json"]) == {"points": {"190": 10}, "partial": False}
    assert not [name for name in files if "/tests/" in name or "__pycache__" in name or name.startswith(("judge/right", ".", "models/tiny-"))]
    for name in ("a.zip", "b.zip"):
        gradescope.pack(files, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    for script in ("setup.sh", "run_autograder"):
        assert os.access(autograder / "source" / script, os.X_OK)
        subprocess.run(["bash", "-n", str(autograder / "source" / script)], check=True)


def test_wrong_usage(tmp_path):
    command = [sys.executable, str(ROOT / "judge" / "gradescope.py")]
    for arguments, words in ((["19o"], "did you mean"), (["190", "--output", str(tmp_path / "no" / "a.zip")], "is not there")):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and words in done.stderr and not list(tmp_path.iterdir())


# --- where the files are looked for ---------------------------------------------------------------------------------

SAMPLER = Wanted("06_engine", "minisgl", "engine/sample.py")
CORE = Wanted("01_core", "minisgl", "core.py")
SLUGS = {"01_core", "06_engine", "07_scheduler"}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["chapters/06_engine/minisgl/engine/sample.py", "sample.py"], "chapters/06_engine/minisgl/engine/sample.py"),
        (["repo-main/chapters/06_engine/minisgl/engine/sample.py", "repo-main/README.md"], "repo-main/chapters/06_engine/minisgl/engine/sample.py"),
        (["06_engine/minisgl/engine/sample.py", "06_engine/main.py"], "06_engine/minisgl/engine/sample.py"),
        (["minisgl/engine/sample.py", "x.py"], "minisgl/engine/sample.py"),
        (["engine/sample.py", "x.py"], "engine/sample.py"),
        (["homework/sample.py", "__MACOSX/homework/sample.py"], "homework/sample.py"),
        (["sample.py"], "sample.py"),
        (["chapters/07_scheduler/minisgl/engine/sample.py"], None),  # another chapter's
        (["engine/Sample.py", "x.py"], None),
        (["drafts/engine/sample.py", "x.py"], None),
        ([".git/sample.py"], None),
    ],
)
def test_where_a_file_is_found(tmp_path, names, found):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    submission = Submission(tmp_path, [SAMPLER, CORE], SLUGS)
    if found is None:
        with pytest.raises(ValueError, match="is not in the submission"):
            submission.find(SAMPLER)
    else:
        assert submission.find(SAMPLER) == tmp_path / found


def test_two_candidates_are_named(tmp_path):
    for folder in ("a", "b"):
        place = tmp_path / folder / SAMPLER.shown
        place.parent.mkdir(parents=True)
        place.write_text("")
    with pytest.raises(ValueError, match=r"two files could be .*a/chapters.*b/chapters"):
        Submission(tmp_path, [SAMPLER], SLUGS).find(SAMPLER)
    other = Wanted("07_scheduler", "minisgl", "engine/sample.py")  # by its name alone it could be either chapter's
    (tmp_path / "sample.py").write_text("")
    with pytest.raises(ValueError, match="is not in"):
        Submission(tmp_path, [SAMPLER, other], SLUGS).find(other)
