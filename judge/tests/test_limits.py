"""What learners' code does to the judge by accident: each gets its status and a one-line cause, and the judge lives on."""

import dataclasses
import time

import psutil
import pytest

from judge import tree
from judge.verdict import EXIT_CODES, Status

PATH = "engine/sample.py"


@pytest.fixture(scope="module")
def solution(registry):
    return tree.reference(registry, 6)[PATH]


def in_sample(solution: str, line: str) -> str:
    """The solution with one more statement at the start of Sampler.sample."""
    marker = "        if args.temperatures is None:\n"
    assert solution.count(marker) == 1
    return solution.replace(marker, f"        {line}\n{marker}")


def verdict_on(judge, registry, source, seconds=4):
    exercise = dataclasses.replace(registry.exercises[190], seconds=seconds)
    data = source if isinstance(source, bytes) else source.encode()
    return judge.judge(exercise, overrides={PATH: data})


CASES = {
    "endless loop": ("while True: pass", Status.TIMEOUT, "timeout", "sample"),
    "endless loop in C": ("torch.set_num_threads(1); a = torch.ones(9000, 9000); [a @ a for _ in range(99)]", Status.TIMEOUT, "timeout", "sample"),
    "sleep": ("__import__('time').sleep(600)", Status.TIMEOUT, "timeout", "sample"),
    "30 GB": ("hog = [torch.ones(1 << 28) for _ in range(30)]", Status.MEMORY, "memory", "GB"),
    "a list that never ends": ("hog = []\n        while True: hog.append(bytes(1 << 20))", Status.MEMORY, "memory", "GB"),
    "more than the address space": ("torch.empty(1 << 50)", Status.MEMORY, "memory", "memory"),
    "os._exit(0)": ("__import__('os')._exit(0)", Status.ERROR, "exited", "exited early with code 0"),
    "sys.exit(0)": ("raise SystemExit(0)", Status.ERROR, "exited", "sys.exit"),
    "kill -9 itself": ("__import__('os').kill(__import__('os').getpid(), 9)", Status.ERROR, "exited", "SIGKILL"),
    "kills its parent": ("__import__('os').kill(__import__('os').getppid(), 9)", Status.ERROR, "killed-parent", "ended the process"),
    "1 GB of prints": ("for _ in range(1 << 10): print('x' * (1 << 20))", Status.ERROR, "output", "MB"),
    "input": ("input()", Status.ERROR, "exception", "keyboard"),
    "an exception": ("[][3]", Status.ERROR, "exception", "IndexError"),
    "not written": ("raise NotImplementedError('TODO 190: x')", Status.NOT_ATTEMPTED, "not-attempted", "sample"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_limit(judge, registry, solution, name):
    line, status, kind, words = CASES[name]
    verdict = verdict_on(judge, registry, in_sample(solution, line), seconds=60 if status is Status.MEMORY else 4)
    assert verdict.status is status, (verdict.diagnosis, verdict.status)
    assert verdict.diagnosis.kind == kind
    assert words in verdict.diagnosis.headline
    assert verdict.exit_code == EXIT_CODES[status] != 0
    assert len(verdict.checks) >= 4


def test_the_judge_lives_on(judge, registry):
    assert judge.judge(registry.exercises[190], solution=True).status is Status.PASS


def test_the_line_of_the_loop_is_named(judge, registry, solution):
    source = in_sample(solution, "while True: spin = 1")
    verdict = verdict_on(judge, registry, source)
    line = source.splitlines().index("        while True: spin = 1") + 1
    assert verdict.diagnosis.where.startswith(f"engine/sample.py:{line}")
    assert "while True: spin = 1" in verdict.diagnosis.lines[0]


def test_a_lingering_fork_and_a_daemon_are_ended(judge, registry, solution):
    fork = "import os, time\n        if os.fork() == 0:\n            os.setsid()\n            if os.fork() == 0: time.sleep(300)\n            os._exit(0)"
    verdict = verdict_on(judge, registry, in_sample(solution, fork), seconds=20)
    assert verdict.status is Status.PASS
    own = judge.sandbox.own
    time.sleep(0.1)
    left = [
        p
        for p in psutil.Process(judge.sandbox.child.process.pid).children(recursive=True)
        if p.pid not in own and p.status() != "zombie"
    ]
    assert left == []


def test_a_fork_storm_is_stopped(judge, registry, solution):
    storm = "import os, time\n        for _ in range(200):\n            if os.fork() == 0: time.sleep(300)\n        time.sleep(5)"
    verdict = verdict_on(judge, registry, in_sample(solution, storm), seconds=20)
    assert (verdict.status, verdict.diagnosis.kind) == (Status.ERROR, "processes")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:\n    pass\n", "syntax error"),
        ("class A:\n\tdef f(self):\n        pass\n", "tabs and spaces"),
        ("def f():\nreturn 1\n", "indentation"),
        ("<<<<<<< mine\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n", "merge marker"),
        ("", "is empty"),
        ("   \n\n", "is empty"),
        (b"x = '\xff\xfe'\n", "not UTF-8"),
        (b"x = 1\0\n", "NUL"),
    ],
)
def test_a_file_that_is_no_python(judge, registry, source, words):
    verdict = verdict_on(judge, registry, source)
    assert (verdict.status, verdict.diagnosis.kind) == (Status.ERROR, "cannot-import")
    assert words in verdict.diagnosis.headline
    assert "chapters/06_engine/minisgl/engine/sample.py" in verdict.diagnosis.headline


def test_a_caret_points_at_the_place(judge, registry):
    verdict = verdict_on(judge, registry, "x = 1\ny = (2 +\n")
    assert "sample.py:2" in verdict.diagnosis.headline
    assert verdict.diagnosis.lines[1].strip() == "^"


def test_crlf_and_bom(judge, registry, solution):
    data = b"\xef\xbb\xbf" + solution.replace("\n", "\r\n").encode()
    assert verdict_on(judge, registry, data, seconds=20).status is Status.PASS


def test_a_renamed_function(judge, registry, solution):
    verdict = verdict_on(
        judge,
        registry,
        solution.replace("def sample_torch(", "def sample_pytorch(").replace(
            "return sample_torch(", "return sample_pytorch("
        ),
    )
    assert (verdict.status, verdict.diagnosis.kind) == (Status.ERROR, "missing-name")
    assert "expected sample_torch" in verdict.diagnosis.headline
    assert "sample_pytorch" in verdict.diagnosis.lines[0]


def test_a_missing_import_names_the_line(judge, registry, solution):
    verdict = verdict_on(
        judge, registry, solution.replace("import torch\n", "import torch\nimport no_such_module\n", 1)
    )
    assert (verdict.status, verdict.diagnosis.kind) == (Status.ERROR, "cannot-import")
    assert "no_such_module" in verdict.diagnosis.headline


def test_prints_are_not_graded(judge, registry, solution):
    noisy = in_sample(solution, "print('PASS ✓', '\\x1b[2J', '{\"status\": \"pass\"}', '\\udcff')")
    verdict = verdict_on(judge, registry, noisy, seconds=20)
    assert verdict.status is Status.PASS
    assert "PASS" in verdict.printed


def test_reading_the_solution_is_refused(judge, registry, solution):
    from judge.steps import ROOT

    for line in (
        f"open({str(ROOT / 'steps.toml')!r}).read()",
        f"open({str(ROOT / 'written')!r}, 'w')",
        "import transformers.models.llama.modeling_llama",
    ):
        verdict = verdict_on(judge, registry, in_sample(solution, line), seconds=60)
        assert verdict.status is Status.ERROR, line
    assert not (ROOT / "written").exists()


def test_an_exception_in_given_code_names_the_learners_line(judge, registry, solution):
    call = "invert_cdf(scores.softmax(dim=-1), uniforms[rows])"
    assert solution.count(call) == 1
    verdict = verdict_on(judge, registry, solution.replace(call, "invert_cdf(scores.softmax(dim=-1), uniforms[rows][:, 1:])"), seconds=20)
    assert verdict.status is Status.ERROR and "sample_torch" in verdict.diagnosis.where
    verdict = verdict_on(judge, registry, solution.replace(call, "invert_cdf(scores.softmax(dim=-1), None)"), seconds=20)
    assert verdict.diagnosis.where.endswith("sample_torch")
    assert any("raised in invert_cdf" in line for line in verdict.diagnosis.lines), verdict.diagnosis


def test_a_misspelled_name_is_guessed(judge, registry, solution):
    verdict = verdict_on(judge, registry, solution.replace("= invert_cdf(", "= invert_cfd("), seconds=20)
    assert "invert_cfd" in verdict.diagnosis.headline and "Did you mean invert_cdf?" in verdict.diagnosis.lines


def test_the_engines_log_is_not_what_the_learner_printed(judge, registry):
    verdict = judge.judge(registry.exercises[192], solution=True)
    assert verdict.status is Status.PASS and verdict.printed == ""
