"""Watch mode: from the save to the printed verdict, on exercise 190 with its solution.

python benchmarks/watch.py [--rounds N]

Works on a copy of the workbook. Each round saves the solution with another comment at its end (os.replace) and waits for the line with
PASS. What the verdict itself takes is timed in this process, with a warm child of its own, and split into its parts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from judge import saves, tree  # noqa: E402
from judge.runner import Judge  # noqa: E402
from judge.sandbox import Sandbox  # noqa: E402
from judge.steps import load  # noqa: E402
from judge.verdict import Status  # noqa: E402

NUMBER = 190
LEFT_OUT = {ROOT / name for name in (".git", ".venv", ".cache", ".progress", "models", "notebooks")}


def copy_of_the_workbook(folder: Path) -> Path:
    copy = folder / "workbook"
    shutil.copytree(ROOT, copy, ignore=lambda place, names: [n for n in names if n == "__pycache__" or Path(place, n) in LEFT_OUT])
    for name in ("models", ".venv", ".cache"):
        if (ROOT / name).exists():
            (copy / name).symlink_to(ROOT / name)
    return copy


def saved_to_printed(rounds: int, path: str, source: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_the_workbook(Path(folder))
        file, beside = copy / path, copy / f"{path}.new"
        file.write_text(source)
        command = [sys.executable, str(copy / "judge" / "run.py"), str(NUMBER), "--watch"]
        process = subprocess.Popen(command, cwd=copy, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            times = []
            for number in range(rounds + 3):  # the first one is cold, and two more warm up
                start = time.perf_counter()
                if number:
                    beside.write_text(f"{source}# save {number}\n")
                    start = time.perf_counter()
                    os.replace(beside, file)
                _until(process, "PASS")
                times.append(time.perf_counter() - start)
                _until(process, "watching")
                time.sleep(0.3)
            return times[3:]
        finally:
            process.terminate()
            process.wait()


def _until(process: subprocess.Popen, word: str) -> None:
    while not (line := process.stdout.readline()).startswith(word):
        if not line:
            sys.exit("the watch ended early")


def the_verdict_alone(rounds: int, path: str, source: str) -> dict[str, list[float]]:
    registry = load()
    exercise = registry.exercises[NUMBER]
    file = next(target for target in exercise.targets if path.endswith(target))
    times: dict[str, list[float]] = {}
    parts: dict[str, float] = {}

    def timed(owner: object, name: str, label: str) -> None:
        function: Callable = getattr(owner, name)

        def inner(*arguments, **named):
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                parts[label] = parts.get(label, 0.0) + time.perf_counter() - start

        setattr(owner, name, inner)

    timed(tree, "assemble", "rebuild the tree")
    timed(Sandbox, "run", "probes")
    judge = Judge(registry, seed=7)
    try:
        for number in range(rounds + 2):
            parts.clear()
            verdict = judge.judge(exercise, overrides={file: f"{source}# save {number}\n".encode()})
            if verdict.status is not Status.PASS:
                sys.exit(f"{NUMBER} with its solution got '{verdict.status}'")
            if number >= 2:
                rest = verdict.seconds - sum(parts.values())
                for label, seconds in {"the verdict alone": verdict.seconds, **parts, "pytest and checks": rest}.items():
                    times.setdefault(label, []).append(seconds)
    finally:
        judge.close()
    return times


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--rounds", type=int, default=15)
    rounds = p.parse_args().rounds
    registry = load()
    exercise = registry.exercises[NUMBER]
    chapter = registry.chapter_of(exercise)
    target = next(iter(exercise.targets))
    path, source = chapter.shown(target), (chapter.folder("solutions") / target).read_text()
    print(f"python benchmarks/watch.py --rounds {rounds}   (cores {os.cpu_count()}, load {os.getloadavg()[0]:.1f})")
    rows = {"from save to verdict": saved_to_printed(rounds, path, source), **the_verdict_alone(rounds, path, source)}
    for label, times in rows.items():
        indent = "" if label == "from save to verdict" else "  " if label == "the verdict alone" else "    "
        print(f"{indent + label:<24}{statistics.median(times):7.3f} s   ({min(times):.3f} to {max(times):.3f})")
    print(f"noticing: a save is over after {saves.QUIET_MS} ms without another event")


if __name__ == "__main__":
    main()
