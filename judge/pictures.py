"""Pictures of verdicts for the README: real verdicts, drawn by rich as SVG. Made anew only when what they show has changed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

from judge.diagnose import WRONG
from judge.progress import State
from judge.report import Reporter
from judge.runner import Judge, hidden_file
from judge.steps import ROOT, Registry
from judge.verdict import Status
from judge.zoo import Specimen, specimens

FOLDER = ROOT / "judge" / "pictures"
COLUMNS = 92
SEED = 7303


def _reporter() -> Reporter:
    from rich.console import Console

    console = Console(
        record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True, color_system="truecolor",
        highlight=False, markup=False, emoji=False,
    )  # fmt: skip
    return Reporter(console)


def _specimen(registry: Registry, number: int, name: str) -> Specimen:
    return next(s for s in specimens(registry.exercises[number]) if s.path.stem == name)


def _judged(registry: Registry, judge: Judge, number: int, wrong: str | None) -> Callable[[Reporter], None]:
    def draw(reporter: Reporter) -> None:
        exercise = registry.exercises[number]
        reporter.say(f"$ python judge/run.py {number}", "bold")
        if wrong is None:
            sources = {p: (registry.by_number[exercise.chapter].folder("solutions") / p).read_bytes() for p in exercise.targets}
            verdict = judge.judge(exercise, overrides=sources)
        else:
            verdict = judge.judge(exercise, overrides=_specimen(registry, number, wrong).sources(registry))
        verdict.filled = []
        reporter.verdict(verdict)
        passed = verdict.status is Status.PASS
        reporter.next_step(f"python judge/run.py {number + 1}" if passed else f"python judge/run.py {number} --hint", verdict)

    return draw


def _listing(registry: Registry) -> Callable[[Reporter], None]:
    def draw(reporter: Reporter) -> None:
        reporter.say("$ python judge/run.py --list", "bold")
        done = [ex.number for ex in registry.exercises.values() if ex.chapter <= 4]
        states = {number: State(Status.PASS, 1 + number % 3) for number in done}
        states |= {152: State(Status.PASS, 4, "changed since"), 180: State(Status.PASS, 1), 181: State(Status.FAIL, 2)}
        reporter.listing(registry, states)
        reporter.next_step("python judge/run.py next")

    return draw


def build(registry: Registry, check: bool) -> list[Path]:
    """Draw what changed; with `check`, only tell which pictures those are."""
    judge = Judge(registry, seed=SEED)
    plans = {
        "pass": (_judged(registry, judge, 190, None), [hidden_file(registry.exercises[190])]),
        "fail": (
            _judged(registry, judge, 190, "top-p-before-top-k"),
            [hidden_file(registry.exercises[190]), WRONG / "190" / "top-p-before-top-k.py"],
        ),
        "list": (_listing(registry), [ROOT / "steps.toml"]),
    }
    changed = []
    try:
        for name, (draw, sources) in plans.items():
            digest = hashlib.sha256(b"".join(p.read_bytes() for p in [*sources, Path(__file__), ROOT / "judge" / "report.py"])).hexdigest()[:16]
            path = FOLDER / f"{name}.svg"
            mark = f"<!-- source {digest} -->"
            if path.is_file() and mark in path.read_text(encoding="utf-8"):
                continue
            changed.append(path)
            if not check:
                reporter = _reporter()
                draw(reporter)
                FOLDER.mkdir(exist_ok=True)
                svg = reporter.console.export_svg(title="the workbook's judge", unique_id=name)
                path.write_text(svg.rstrip() + f"\n{mark}\n", encoding="utf-8")
    finally:
        judge.close()
    return changed
