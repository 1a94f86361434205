"""The author's check of every claim about every exercise.

python judge/check.py [TARGET…] [--jobs N]

For each exercise: the solution passes, the skeleton is not attempted, each wrong solution gets its verdict and its diagnosis,
each right solution in another style passes. Mistakes rewritten by people who had not seen how they are recognised measure the recogniser.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0:0] = [str(ROOT)]

from judge import tree as trees  # noqa: E402
from judge import zoo  # noqa: E402
from judge.runner import Judge  # noqa: E402
from judge.steps import Registry, load  # noqa: E402
from judge.verdict import Status  # noqa: E402

KINDS = ("solution", "skeleton", "wrong", "right", "rewritten")
MIN_WRONG, MIN_RIGHT = 4, 1
MIN_REWRITTEN, MIN_RIGHTLY_NAMED, MAX_WRONGLY_NAMED = 30, 0.8, 0.05


@dataclass(frozen=True)
class Claim:
    """One thing that must hold: the verdict on one set of sources."""

    number: int
    kind: str
    name: str
    index: int = 0


@dataclass(frozen=True)
class Finding:
    claim: Claim
    complaint: str | None
    recognised: str
    seconds: float
    named: str = ""  # for a rewritten mistake: "right", "none" or "other"


_judge: Judge | None = None
_registry: Registry | None = None


def _start_worker(seed: int | None) -> None:
    global _judge, _registry
    _registry = load()
    _judge = Judge(_registry, seed=seed)
    import atexit

    atexit.register(_judge.close)


def examine(claim: Claim) -> Finding:
    """Judge what the claim is about, and say what is wrong with the verdict."""
    start = time.perf_counter()
    exercise = _registry.exercises[claim.number]
    recognised = named = ""
    try:
        if claim.kind == "solution":
            verdict = _judge.judge(exercise, solution=True)
            complaint = (
                None if verdict.status is Status.PASS else f"the reference got '{verdict.status}': {zoo.told(verdict)}"
            )
        elif claim.kind == "skeleton":
            pristine = trees.snapshot(_registry, _registry.chapter_of(exercise))
            verdict = _judge.judge(exercise, overrides={path: pristine[path].encode() for path in exercise.targets})
            complaint = None if verdict.status is Status.NOT_ATTEMPTED else f"the skeleton got '{verdict.status}'"
        else:
            specimen = zoo.specimens(exercise)[claim.index]
            verdict = _judge.judge(exercise, overrides=specimen.sources(_registry))
            complaint = specimen.complaint(verdict)
            diagnosis = verdict.diagnosis
            if specimen.kind == "rewritten" and complaint is None:
                mistake = diagnosis.mistake if diagnosis else None
                named = "right" if mistake == specimen.header["mistake"] else "none" if mistake is None else "other"
            recognised = (
                f"{verdict.status}: {diagnosis.mistake or diagnosis.kind}" if diagnosis else str(verdict.status)
            )
    except zoo.HeaderError as error:
        complaint = str(error)
    return Finding(claim, complaint, recognised, time.perf_counter() - start, named)


def claims(registry: Registry, numbers: list[int], kinds: tuple[str, ...] = KINDS) -> list[Claim]:
    found = []
    for number in numbers:
        for kind in kinds:
            if kind in ("solution", "skeleton"):
                found.append(Claim(number, kind, kind))
        for index, specimen in enumerate(zoo.specimens(registry.exercises[number])):
            if specimen.kind in kinds:
                found.append(Claim(number, specimen.kind, specimen.name, index))
    return found


def quotas(registry: Registry, numbers: list[int]) -> list[str]:
    """Exercises with too few wrong or right solutions."""
    missing = []
    for number in numbers:
        found = zoo.specimens(registry.exercises[number])
        wrong, right = sum(s.kind == "wrong" for s in found), sum(s.right for s in found)
        if wrong < MIN_WRONG:
            missing.append(
                f"{number}: {wrong} wrong solutions; add at least {MIN_WRONG - wrong} to judge/wrong/{number}/"
            )
        if right < MIN_RIGHT:
            missing.append(f"{number}: no right solution in another style; add one to judge/right/{number}/")
    return missing


def run(
    registry: Registry,
    numbers: list[int],
    jobs: int,
    kinds: tuple[str, ...] = KINDS,
    seed: int | None = None,
    tell=None,
) -> list[Finding]:
    """Examine all claims about the exercises in `jobs` processes."""
    todo = claims(registry, numbers, kinds)
    findings = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(seed,)) as pool:
        for future in as_completed([pool.submit(examine, claim) for claim in todo]):
            findings.append(future.result())
            if tell:
                tell(findings[-1], len(findings), len(todo))
    return sorted(findings, key=lambda f: (f.claim.number, KINDS.index(f.claim.kind), f.claim.index))


def main(argv: list[str] | None = None) -> int:
    from judge.report import bar_table, make_console
    from judge.run import resolve

    p = argparse.ArgumentParser(prog="python judge/check.py", description=__doc__.splitlines()[0])
    p.add_argument("targets", nargs="*", default=["all"], help="exercises or chapters (default: all)")
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    p.add_argument("--only", choices=KINDS, help="only claims of this kind")
    p.add_argument("--seed", type=int, help="the fresh seed to use (default: a new one)")
    p.add_argument("-v", "--verbose", action="store_true", help="a line for each claim")
    options = p.parse_args(argv)
    registry = load()
    numbers = [exercise.number for exercise in resolve(registry, options.targets)]
    kinds = (options.only,) if options.only else KINDS
    console = make_console()
    start = time.perf_counter()

    def tell(finding: Finding, done: int, total: int) -> None:
        if finding.complaint or options.verbose:
            word = "WRONG" if finding.complaint else "holds"
            console.print(
                f"{word}  {finding.claim.number} {finding.claim.name}  {finding.complaint or finding.recognised}  ({finding.seconds:.1f} s)"
            )
        elif console.is_terminal and done % 10 == 0:
            console.print(f"{done} of {total}", style="dim")

    findings = run(registry, numbers, options.jobs, kinds, options.seed, tell)
    missing = quotas(registry, numbers) if options.only is None else []
    rows = []
    for chapter in registry.open_chapters:
        own = [f for f in findings if registry.exercises[f.claim.number].chapter == chapter.number]
        if own:
            counts = [
                (sum(f.claim.kind == kind and not f.complaint for f in own), sum(f.claim.kind == kind for f in own))
                for kind in KINDS
            ]
            rows.append(
                [
                    f"{chapter.number} {chapter.title}",
                    *(f"{held}/{total}" for held, total in counts),
                    f"{sum(f.seconds for f in own):.0f} s",
                ]
            )
    columns = [
        "chapter",
        "solutions passed",
        "skeletons not attempted",
        "wrong rejected, rightly diagnosed",
        "styles accepted",
        "rewritten rejected",
        "time",
    ]
    console.print(bar_table("", columns, rows))
    for line in missing:
        console.print(f"MISSING  {line}")
    bad = [f for f in findings if f.complaint]
    named = [f.named for f in findings if f.named]
    if named:
        right, other = named.count("right") / len(named), named.count("other") / len(named)
        console.print(
            f"mistakes rewritten in another style: {len(named)}, right diagnosis {right:.0%}, another mistake named {other:.0%}, "
            f"the rest a plain mismatch (at least {MIN_RIGHTLY_NAMED:.0%}, at most {MAX_WRONGLY_NAMED:.0%})"
        )
        if len(named) >= MIN_REWRITTEN and (right < MIN_RIGHTLY_NAMED or other > MAX_WRONGLY_NAMED):
            missing.append("the recogniser names too few, or wrong, mistakes")
    console.print(
        f"{len(findings) - len(bad)} of {len(findings)} claims hold, {len(missing)} quotas missed, {time.perf_counter() - start:.0f} s"
    )
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
