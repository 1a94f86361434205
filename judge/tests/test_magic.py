"""%judge and %hint: in IPython, in a notebook's kernel, with typos, and with what hostile code prints."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from judge import magic, setup
from judge.notebooks import SETUP
from judge.steps import ROOT
from judge.tests.test_formats import wait_for
from judge.tests.test_run import SAMPLE, make_checkout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def fresh(checkout, monkeypatch):
    shutil.copyfile(ROOT / SAMPLE, checkout / SAMPLE)
    shutil.rmtree(checkout / ".progress", ignore_errors=True)
    monkeypatch.setattr(magic, "ROOT", checkout)
    return checkout


@pytest.fixture(scope="module")
def shell():
    found = InteractiveShell.instance()
    found.run_line_magic("load_ext", "judge.magic")
    yield found
    InteractiveShell.clear_instance()


def cell(shell, text: str) -> dict[str, str]:
    """The mime bundle that a cell displays."""
    with capture_output() as caught:
        result = shell.run_cell(text)
    assert result.success and not caught.stderr and "Traceback" not in caught.stdout, caught.stdout
    (output,) = caught.outputs
    return output.data


def test_an_untouched_exercise(fresh, shell):
    shown = cell(shell, "%judge 190")
    assert shown["text/plain"].startswith("NOT ATTEMPTED  190") and "then %judge 190" in shown["text/plain"]
    assert "NOT ATTEMPTED" in shown["text/html"] and "nothing written yet" in shown["text/html"] and "<pre" in shown["text/html"]
    assert (fresh / ".progress" / "progress.json").is_file()


@pytest.mark.parametrize(("text", "words"), [("%judge 19o", "did you mean"), ("%judge", "which exercise?"), ("%hint nxt", "did you mean next"), ('%judge "190', "quotation")])
def test_typos_give_a_sentence(fresh, shell, text, words):
    shown = cell(shell, text)
    assert words in shown["text/plain"] and words in shown["text/html"] and "python judge" not in shown["text/plain"]


def test_hints_and_other_actions(fresh, shell):
    assert "hint 1 of 3" in cell(shell, "%hint 190")["text/plain"]
    assert "equals the skeleton" in cell(shell, "%judge 190 --diff")["text/plain"]
    assert "terminal" in cell(shell, "%judge 190 --watch")["text/plain"]


def test_html_is_escaped():
    evil = "<script>alert(1)</script>"
    exercise = {
        "number": 190, "title": evil, "status": "fail", "passed": 0, "total": 1, "seconds": 1.0, "check": evil, "printed": evil, "filled": [evil], "ignored": [evil],
        "diagnosis": {"kind": "mismatch", "headline": evil, "lines": [evil], "where": evil, "mistake": None}, "checks": [{"title": evil, "status": "fail"}],
    }  # fmt: skip
    page = magic.page({"exercises": [exercise, exercise], "message": evil, "next": evil})
    assert "<script" not in page and page.count("&lt;script") == 13
    assert page.count("<pre") == 2  # one diagnosis, one printed text: the second exercise is brief


def test_an_interrupt_ends_the_judge(fresh, tmp_path):
    source = (ROOT / "solutions/06_engine/minisgl/engine/sample.py").read_text()
    first = "        if args.temperatures is None:"
    (fresh / SAMPLE).write_text(source.replace(first, f"        while True: pass\n{first}"))
    file = tmp_path / "report.json"

    def interrupt():
        wait_for(file)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    code, out, err = magic.run(["190", "--format", "json", "--output", str(file)])
    thread.join()
    assert code == 130 and json.loads(out)["status"] == "interrupted" and "interrupted" in err


def test_in_a_kernel(fresh):
    """The set-up cell of a chapter's notebook is enough for %judge."""
    import nbformat
    from nbclient import NotebookClient

    cells = [SETUP.format(number=6), "%hint 190", "%judge 190"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(fresh / "chapters")}}).execute(env=environment)
    _, hint, judged = notebook.cells
    assert "hint 1 of 3" in hint.outputs[0]["data"]["text/plain"]
    assert "NOT ATTEMPTED" in judged.outputs[0]["data"]["text/html"]


def test_make_notebook_opens_jupyterlab_of_this_environment(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup.subprocess, "run", lambda command, **how: calls.append((command, how)) or subprocess.CompletedProcess(command, 0))
    (tmp_path / "notebooks").mkdir()
    assert setup.notebook(6) == 2 and not calls
    file = tmp_path / "notebooks" / "06_engine.ipynb"
    file.touch()
    assert setup.notebook(6) == 0
    ((command, how),) = calls
    assert command[:4] == [setup.PYTHON, "-m", "jupyterlab", file] and how["env"]["JUPYTER_PREFER_ENV_PATH"] == "1"


def test_the_kernel_is_this_interpreter(tmp_path):
    code = "import jupyterlab\nfrom jupyter_client import KernelManager\nprint(KernelManager(kernel_name='python3').format_kernel_cmd()[0])"
    environment = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PATH")}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "JUPYTER_PREFER_ENV_PATH": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sys.executable
