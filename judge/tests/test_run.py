"""The learner's command as a learner types it: exit codes, typos, other directories, narrow terminals, reset and hints."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from judge.steps import ROOT

SAMPLE = "chapters/06_engine/minisgl/engine/sample.py"
LINKED = ("models", ".venv", ".cache")


def make_checkout(folder: Path) -> Path:
    """A checkout of its own, with a space and a letter beyond ASCII in its path."""
    copy = folder / "my wörk"
    left_out = {ROOT / name for name in (*LINKED, ".git", "notebooks", ".progress", "judge/tests")}

    def ignore(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name == "__pycache__" or Path(folder, name) in left_out]

    shutil.copytree(ROOT, copy, ignore=ignore)
    for name in LINKED:
        if (ROOT / name).exists():
            (copy / name).symlink_to(ROOT / name)
    return copy


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def fresh(checkout):
    """The checkout with untouched skeletons and no progress."""
    shutil.copyfile(ROOT / SAMPLE, checkout / SAMPLE)
    shutil.rmtree(checkout / ".progress", ignore_errors=True)
    return checkout


def run(checkout, *arguments, cwd=None, code=None, **environment):
    done = subprocess.run(
        [sys.executable, str(checkout / "judge" / "run.py"), *arguments],
        cwd=cwd or checkout, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | environment, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    text = done.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8").split(":")[0]) + done.stderr.decode(
        "utf-8", "replace"
    )
    if code is not None:
        assert done.returncode == code, text
    return text


def test_untouched_is_not_attempted(fresh):
    text = run(fresh, "190", code=3)
    assert text.startswith("NOT ATTEMPTED  190")
    assert "not attempted" in text.splitlines()[-1]


def test_the_solution_passes(fresh):
    text = run(fresh, "190", "--solution", code=0)
    assert text.startswith("PASS  190")
    assert not (fresh / ".progress").exists()


def test_a_wrong_solution_is_diagnosed(fresh):
    from judge.steps import load
    from judge.zoo import specimens

    registry = load()
    wrong = next(s for s in specimens(registry.exercises[190]) if s.path.stem == "top-p-before-top-k")
    (fresh / SAMPLE).write_bytes(wrong.sources(registry)["engine/sample.py"])
    text = run(fresh, "190", cwd=fresh / "chapters", code=1)
    assert text.startswith("FAIL  190") and wrong.header["says"][:40] in " ".join(text.split())
    assert "next: python judge/run.py 190 --hint" in text
    assert "190" in run(fresh, "--list", code=0)
    state = json.loads((fresh / ".progress" / "progress.json").read_text())["exercises"]["190"]
    assert (state["status"], state["attempts"]) == ("fail", 1)


def test_json_and_output(fresh, tmp_path):
    report = tmp_path / "report.json"
    data, _ = json.JSONDecoder().raw_decode(run(fresh, "190", "--format", "json", "--output", str(report), code=3))
    assert data["version"] == 1 and data["status"] == "not attempted" and data["exit_code"] == 3
    assert json.loads(report.read_text())["exercises"][0]["number"] == 190


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["19o"], "did you mean"), (["1900"], "did you mean 190"), (["nxt"], "did you mean next"), ([], "which exercise?"), (["9"], "not open yet"),
        (["190", "--file", "no.py"], "no.py is not there"), (["6", "--file", "no.py"], "one file for one exercise"), (["190", "--base", "yours"], "invalid choice"),
        (["²"], "unknown target"),
    ],
)  # fmt: skip
def test_wrong_usage(fresh, arguments, words):
    assert words in run(fresh, *arguments, code=2)


def test_file(fresh, tmp_path):
    mine = tmp_path / "my sampler.py"
    shutil.copyfile(ROOT / "solutions/06_engine/minisgl/engine/sample.py", mine)
    assert run(fresh, "190", "--file", str(mine), code=0).startswith("PASS")


def test_reset_keeps_a_backup_and_the_siblings(fresh):
    from judge import skeleton

    solution = (ROOT / "solutions/06_engine/minisgl/engine/sample.py").read_text()
    (fresh / SAMPLE).write_text(solution)
    text = run(fresh, "190", "--reset", code=0)
    after = (fresh / SAMPLE).read_text()
    assert skeleton.is_stub(after, "sample_torch") and not skeleton.is_stub(after, "uniform")
    backup = next(line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("backed up"))
    assert (fresh / backup.strip()).read_text() == solution


def test_reset_of_a_broken_file(fresh):
    (fresh / SAMPLE).write_text("def f(:\n")
    run(fresh, "190", "--reset", code=0)
    assert (fresh / SAMPLE).read_text() == (ROOT / SAMPLE).read_text()


def test_hints_come_one_after_the_other(fresh):
    assert "hint 1 of 3" in run(fresh, "190", "--hint", code=0)
    assert "hint 2" not in run(fresh, "190", "--hint", code=0)
    (fresh / SAMPLE).write_text(
        (fresh / SAMPLE).read_text().replace('raise NotImplementedError("TODO 190', 'raise ValueError("TODO 190')
    )
    run(fresh, "190", code=1)
    assert "hint 2 of 3" in run(fresh, "190", "--hint", code=0)


def test_diff(fresh):
    assert "equals the skeleton" in run(fresh, "190", "--diff", code=0)
    assert "+" in run(fresh, "190", "--diff", "solution", code=0)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        '{"version": 99, "exercises": {}}',
        '{"version": 1, "exercises": []}',
        '{"version": 1, "exercises": {"190": 3}}',
        "\x00",
    ],
)
def test_a_damaged_progress_file_is_survived(fresh, content):
    (fresh / ".progress").mkdir()
    (fresh / ".progress" / "progress.json").write_text(content)
    text = run(fresh, "190", code=3)
    assert "progress" in text.lower()
    json.loads((fresh / ".progress" / "progress.json").read_text())


def test_narrow_and_ascii(fresh):
    text = run(fresh, "190", "--solution", code=0, PYTHONIOENCODING="cp1252", COLUMNS="40")
    assert "PASS" in text
    text = run(fresh, "--list", code=0, PYTHONIOENCODING="ascii", COLUMNS="40", NO_COLOR="1")
    assert "190" in text and "\x1b" not in text


def test_ignored_edits_are_named(fresh):
    other = fresh / "chapters/06_engine/minisgl/core.py"
    before = other.read_text()
    try:
        other.write_text(before + "\nEDITED = 1\n")
        text = run(fresh, "190", code=3)
        assert "ignored" in text and "core.py" in text
    finally:
        other.write_text(before)


def test_a_missing_file_and_a_link(fresh):
    (fresh / SAMPLE).unlink()
    assert "expected the file" in run(fresh, "190", code=1)
    (fresh / SAMPLE).symlink_to(ROOT / "solutions/06_engine/minisgl/engine/sample.py")
    try:
        assert "is a link" in run(fresh, "190", code=1)
    finally:
        (fresh / SAMPLE).unlink()


def test_light_commands_import_no_torch():
    for arguments in (["--list"], ["190", "--hint"], ["190", "--diff"], ["--help"]):
        code = f"import sys; sys.argv = ['run.py', *{arguments!r}]; sys.path.insert(0, {str(ROOT)!r})\ntry:\n    from judge import run; run.main()\nexcept SystemExit: pass\n"
        code += "print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        assert done.stdout.splitlines()[-1] == "[]", arguments


def test_interrupt(fresh):
    import signal
    import time

    (fresh / SAMPLE).write_text(
        (ROOT / "solutions/06_engine/minisgl/engine/sample.py")
        .read_text()
        .replace(
            "        if args.temperatures is None:", "        while True: pass\n        if args.temperatures is None:"
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(fresh / "judge" / "run.py"), "190"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted" in err
    left = subprocess.run(["pgrep", "-f", str(fresh)], capture_output=True, text=True, check=False).stdout.split()
    assert left == []


def test_an_interpreter_without_the_packages_goes_on_in_the_environment(fresh):
    base = Path(sys.base_prefix) / "bin" / "python3"
    if not (fresh / ".venv").exists() or subprocess.run([base, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        pytest.skip("needs .venv and a base interpreter without torch")
    done = subprocess.run([base, str(fresh / "judge/run.py"), "190"], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stdout.startswith("NOT ATTEMPTED")
    (fresh / ".venv").rename(fresh / "elsewhere")
    try:
        done = subprocess.run([base, str(fresh / "judge/run.py"), "190"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "make setup" in done.stderr
    finally:
        (fresh / "elsewhere").rename(fresh / ".venv")
