"""One exercise from its tree to its verdict: run the hidden tests with pytest in this process and account for every expected id."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from judge import diagnose, skeleton
from judge import tree as trees
from judge.expect import Mismatch
from judge.oracle import MissingModel, Oracle, model_path
from judge.sandbox import ProbeFailed, ProbeLimits, Sandbox
from judge.steps import ROOT, Exercise, Registry
from judge.verdict import Check, Diagnosis, Status, Verdict, choose, worst
from judge.warm import Child, JudgeError

HIDDEN = ROOT / "judge" / "hidden"
MANIFEST = HIDDEN / "manifest.json"
EXERCISE_FACTOR = 3  # an exercise may take this many times the limit of one probe


def hidden_file(exercise: Exercise) -> Path:
    """The hidden test file of an exercise.

    Raises:
        JudgeError: if there is not exactly one.
    """
    found = sorted((HIDDEN / f"ch{exercise.chapter:02d}").glob(f"test_{exercise.number}_*.py"))
    if len(found) != 1:
        raise JudgeError(f"exercise {exercise.number} has {len(found)} hidden test files; it needs exactly one")
    return found[0]


@lru_cache(maxsize=32)
def titles(source: str) -> dict[str, str]:
    """Test function -> first line of its docstring: what the learner reads when it fails. Read only: the answer is kept."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            doc = ast.get_docstring(node) or node.name.removeprefix("test_").replace("_", " ")
            found[node.name] = doc.splitlines()[0].rstrip(".")
    return found


def expected_ids(exercise: Exercise) -> list[str]:
    """The exact test ids that a verdict needs, from the manifest that `make build` writes."""
    try:
        ids = json.loads(MANIFEST.read_text(encoding="utf-8"))[str(exercise.number)]
    except (OSError, ValueError, KeyError):
        raise JudgeError(
            f"no list of expected checks for {exercise.number}; the author's command `make build` writes it"
        ) from None
    if not ids or len(set(ids)) != len(ids):
        raise JudgeError(f"the list of expected checks for {exercise.number} is empty or holds one twice")
    return ids


class TreeUnderTest:
    """What a hidden test sees of the engine: `run(probe, **inputs)` next to the learner's code, and models by name."""

    def __init__(self, folder: Path, sandbox: Sandbox, limits: ProbeLimits, seed: int) -> None:
        self.folder, self.sandbox, self.limits, self.seed = folder, sandbox, limits, seed
        self.left = EXERCISE_FACTOR * limits.seconds  # the oracle's time and torch's start do not count
        self.stopped: ProbeFailed | None = None  # after a time-out or a memory kill nothing more is run
        self.answered = False
        self.output = bytearray()

    def run(self, probe: Callable, **inputs: Any) -> Any:
        """Run a probe in the sandbox and return its evidence. Inputs: numbers, strings, lists, dicts, numpy arrays."""
        if self.stopped is not None:
            raise self.stopped
        limits = replace(self.limits, seconds=max(0.1, min(self.limits.seconds, self.left)))
        start, waited = time.monotonic(), self.sandbox.waited
        try:
            evidence = self.sandbox.run(probe, self.folder, limits, self.seed, inputs)
        except ProbeFailed as failure:
            if failure.status in ("timeout", "memory") or failure.kind in ("output", "processes", "killed-parent"):
                self.stopped = failure
            raise
        finally:
            self.left -= time.monotonic() - start - (self.sandbox.waited - waited)
            self.output += self.sandbox.output[: max(0, 65536 - len(self.output))]
        self.answered = True
        return evidence

    def model(self, name: str) -> str:
        """The path of a checkpoint, for a probe's input. The test is skipped where the checkpoint is not there."""
        return str(model_path(name))


class Collector:
    """The pytest plugin: fixtures for the hidden tests, and one Check for each test."""

    def __init__(
        self, tree: TreeUnderTest, oracle: Oracle, seed: int, names: dict[str, str], context: diagnose.Context
    ) -> None:
        self._tree, self._oracle, self._seed = tree, oracle, seed
        self._titles, self._context = names, context
        self.checks: list[Check] = []
        self.collected: list[str] = []
        self.broken: list[str] = []
        self.interrupted: BaseException | None = None

    def fixtures(self) -> type:
        import pytest

        outer = self

        class Fixtures:
            @pytest.fixture
            def tree(self):
                return outer._tree

            @pytest.fixture
            def oracle(self):
                return outer._oracle

            @pytest.fixture
            def seed(self):
                """The fresh seed of this run, printed with the verdict."""
                return outer._seed

            @pytest.fixture
            def seeds(self):
                """Seeds to loop over: the fixed one decides, the fresh one is tried too."""
                return (7, outer._seed)

            @pytest.fixture
            def rng(self):
                """A numpy generator from the fixed seed."""
                return np.random.default_rng(7)

        return Fixtures

    def pytest_collection_modifyitems(self, items: list) -> None:
        self.collected = [item.name for item in items]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.broken.append(str(report.longrepr)[-800:])

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.interrupted = excinfo.value

    def pytest_runtest_setup(self, item: Any) -> None:
        self._tree.answered = False

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        error = call.excinfo.value if call.excinfo is not None else None
        if call.when != "call" and error is None:
            return
        if call.when == "call" or error is not None:
            function = item.name.split("[")[0]
            status, diagnosis = self._classify(error)
            self.checks.append(
                Check(item.name, self._titles.get(function, item.name), status, diagnosis, call.duration)
            )

    def _classify(self, error: BaseException | None) -> tuple[Status, Diagnosis | None]:
        import pytest

        if error is None:
            return Status.PASS, None
        if isinstance(error, Mismatch):
            return Status.FAIL, diagnose.mismatch(error, self._context)
        if isinstance(error, ProbeFailed):
            return diagnose.probe_failure(error, self._context)
        if isinstance(error, (MissingModel, pytest.skip.Exception)):
            return Status.SKIPPED, Diagnosis("skipped", str(error))
        if isinstance(error, JudgeError):
            return Status.JUDGE_ERROR, Diagnosis("judge-error", str(error))
        if (
            isinstance(error, (TypeError, AttributeError, KeyError, IndexError, ValueError))
            and self._tree.answered
            and not self._context.solution
        ):
            text = f"your code returned something that this check cannot read ({type(error).__name__}: {error})"
            return Status.ERROR, Diagnosis("malformed", text[:300])
        if isinstance(error, KeyboardInterrupt):
            raise error
        return Status.JUDGE_ERROR, Diagnosis(
            "judge-error", f"the hidden test itself failed: {type(error).__name__}: {error}"[:500], _own_trace(error)
        )


def _own_trace(error: BaseException) -> list[str]:
    import traceback

    return [f"{Path(f.filename).name}:{f.lineno} {f.line}" for f in traceback.extract_tb(error.__traceback__)][-4:]


class Judge:
    """Judges exercises, one after another, with one warm sandbox and one oracle."""

    def __init__(
        self, registry: Registry, child: Child | None = None, seed: int | None = None, cancelled: Callable[[], bool] | None = None
    ) -> None:
        """`cancelled` may end a verdict: `judge` then raises sandbox.Cancelled, and can be called again."""
        self.registry, self._cancelled = registry, cancelled
        self._child, self._sandbox, self.oracle = child, None, Oracle()
        self.seed = secrets.randbelow(10_000) if seed is None else seed

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = Sandbox(self._child or Child("sandbox"), self._cancelled)
        return self._sandbox

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
        elif self._child is not None:
            self._child.close()
        self.oracle.close()

    def judge(self, exercise: Exercise, **how: Any) -> Verdict:
        """The verdict on one exercise; `how` is what `tree.assemble` takes (solution, overrides, base).

        Whatever goes wrong ends in a verdict, and nothing but every expected check reporting "pass" ends in a pass.
        """
        start = time.perf_counter()
        verdict = Verdict(
            exercise.number, exercise.title, Status.JUDGE_ERROR, seed=self.seed, base=how.get("base", "reference")
        )
        try:
            verdict.hashes = trees.hashes(self.registry, exercise, **how)
            tree = trees.assemble(self.registry, exercise, **how)
            verdict.phases["assemble"] = time.perf_counter() - start
            verdict.judged, verdict.filled, verdict.ignored = tree.judged, tree.filled, tree.ignored
            verdict.base_files = tree.base_files
            if not tree.attempted:
                self._not_attempted(verdict, exercise)
            else:
                self._run(verdict, exercise, tree, solution=bool(how.get("solution")))
        except trees.SourceProblem as problem:
            verdict.status = Status.ERROR
            verdict.diagnosis = Diagnosis(problem.kind, problem.headline, list(problem.lines))
        except (JudgeError, skeleton.SkeletonError, OSError) as error:
            verdict.status = Status.JUDGE_ERROR
            verdict.diagnosis = Diagnosis("judge-error", str(error))
        except Exception as error:
            verdict.status = Status.JUDGE_ERROR
            verdict.diagnosis = Diagnosis("judge-error", f"the judge itself failed: {type(error).__name__}: {error}"[:500], _own_trace(error))
        verdict.seconds = time.perf_counter() - start
        return verdict

    def blame(self, exercise: Exercise, verdict: Verdict, **how: Any) -> None:
        """For a verdict on the learner's own base that is no pass: if the reference's base passes, name the file at fault.

        Bisects over the learner's files in the order of the chapters: the first one whose laying-in ends the pass.
        """
        if verdict.base != "mine" or verdict.status in (Status.PASS, Status.NOT_ATTEMPTED, Status.JUDGE_ERROR):
            return
        if self.judge(exercise, **how | {"base": "reference"}).status is not Status.PASS:
            return
        found = trees.pieces(self.registry, exercise)
        passes, fails = 0, len(found)
        while fails - passes > 1:
            middle = (passes + fails) // 2
            if self.judge(exercise, **how | {"base": "mine", "laid": middle}).status is Status.PASS:
                passes = middle
            else:
                fails = middle
        chapter, path = found[fails - 1]
        verdict.culprit = chapter.shown(path)
        verdict.culprit_exercises = [ex.number for ex in chapter.exercises if path in ex.targets]

    @staticmethod
    def _not_attempted(verdict: Verdict, exercise: Exercise) -> None:
        names = titles(hidden_file(exercise).read_text(encoding="utf-8"))
        verdict.checks = [Check(i, names.get(i.split("[")[0], i), Status.NOT_ATTEMPTED) for i in expected_ids(exercise)]
        verdict.status = Status.NOT_ATTEMPTED
        asked = [entry.split(":")[1] for entry in exercise.write]
        where = next(iter(verdict.judged.values()))
        verdict.diagnosis = Diagnosis("not-attempted", f"nothing written yet: {where}", [f"write {', '.join(asked)}"])

    def _run(self, verdict: Verdict, exercise: Exercise, tree: trees.Assembled, solution: bool) -> None:
        file = hidden_file(exercise)
        wanted = expected_ids(exercise)
        self.sandbox.revive()
        folder = Path(tempfile.mkdtemp(dir=self.sandbox.child.trees)).resolve()
        try:
            tree.write(folder)
            names = titles(file.read_text(encoding="utf-8"))
            context = diagnose.Context(exercise, self.registry.chapter_of(exercise), tree, str(folder), solution)
            under_test = TreeUnderTest(folder, self.sandbox, ProbeLimits(exercise.seconds), self.seed)
            collector = Collector(under_test, self.oracle, self.seed, names, context)
            waited, start = self.sandbox.waited, time.perf_counter()
            try:
                _run_pytest(file, collector)
            finally:
                verdict.phases["start"] = self.sandbox.waited - waited
                verdict.phases["checks"] = time.perf_counter() - start - verdict.phases["start"]
            verdict.printed = under_test.output.decode("utf-8", "replace")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        verdict.sandbox = self.sandbox.child.sandbox
        verdict.checks = _account(wanted, collector, names)
        verdict.status = worst([check.status for check in verdict.checks])
        chosen = choose(verdict.checks)
        if chosen is not None:
            verdict.diagnosis, verdict.check = chosen.diagnosis, chosen.title


def _run_pytest(file: Path, collector: Collector) -> None:
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    off = [
        "cacheprovider",
        "doctest",
        "junitxml",
        "logging",
        "faulthandler",
        "unraisableexception",
        "threadexception",
        "pastebin",
        "terminal",
    ]
    arguments = [
        "-c",
        os.devnull,
        "--rootdir",
        str(HIDDEN),
        "--noconftest",
        "--import-mode=importlib",
        "--assert=plain",
        "--capture=no",
    ]
    for name in off:
        arguments += ["-p", f"no:{name}"]
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        pytest.main([*arguments, str(file)], plugins=[collector, collector.fixtures()()])
    if collector.interrupted is not None:
        raise collector.interrupted


def _account(wanted: list[str], collector: Collector, names: dict[str, str]) -> list[Check]:
    """Exactly the expected checks, each once. Whatever is missing, extra or doubled is a judge error."""
    by_id: dict[str, Check] = {}
    for check in collector.checks:
        if check.id in by_id:  # a failing tear-down after a pass, or a doubled id: never let the pass stand
            check.status = Status.JUDGE_ERROR
            check.diagnosis = check.diagnosis or Diagnosis("judge-error", f"the check {check.id} reported twice")
        by_id[check.id] = check
    checks = []
    for name in wanted:
        missing = Diagnosis("judge-error", f"the check {name} did not report", collector.broken[:1])
        checks.append(
            by_id.pop(name, None) or Check(name, names.get(name.split("[")[0], name), Status.JUDGE_ERROR, missing)
        )
    for name, check in by_id.items():
        check.status, check.diagnosis = (
            Status.JUDGE_ERROR,
            Diagnosis("judge-error", f"the check {name} is not in the list; run `make build`"),
        )
        checks.append(check)
    return checks
