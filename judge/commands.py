"""What run.py does besides judging: the list, hints, differences, the learner's engine, the skeleton again, a chapter's main.py.

Each command imports what it needs itself, so that the light ones answer in a blink.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fail(text: str) -> int:
    """Say what was wrong with the command line; the exit code for that."""
    print(text, file=sys.stderr)
    return 2


def show_list(registry, exercise, options) -> int:
    from judge.progress import Progress
    from judge.report import Reporter

    progress = Progress()
    reporter = Reporter()
    reporter.listing(registry, progress.states(registry))
    for message in progress.messages:
        reporter.say(message, "yellow")
    if not options.watch:
        reporter.next_step("python judge/run.py next")
    return 0


def show_hint(registry, exercise, options) -> int:
    from judge.progress import Progress
    from judge.report import Reporter

    progress = Progress()
    level = progress.hint_level(exercise)
    progress.save()
    reporter = Reporter()
    reporter.hints(exercise, registry.chapter_of(exercise), level)
    if level < len(exercise.hints):
        reporter.say("The next hint comes after your next attempt.", "dim", 2)
    if not options.watch:
        reporter.next_step(f"python judge/run.py {exercise.number}")
    return 0


def show_diff(registry, exercise, options) -> int:
    from judge import differ, tree
    from judge.progress import Progress

    against = options.diff[0] if options.diff else None
    if against not in (None, "skeleton", "solution"):
        return fail(f"--diff {against}: write --diff skeleton, --diff solution, or --diff chapters 2 3")
    if against is None:
        state = Progress().states(registry).get(exercise.number)
        against = "solution" if state is not None and state.done else "skeleton"
    try:
        differences = differ.mine(registry, exercise, against)
    except tree.SourceProblem as problem:
        return fail(problem.headline)
    signs = "- the skeleton, + yours" if against == "skeleton" else "- yours, + the solution"
    print(f"{exercise.number} {exercise.title}: {signs}")
    _print_differences(differences, f"equals the {against}")
    if not options.watch:
        print(f"next: python judge/run.py {exercise.number}")
    return 0


def show_chapters(registry, options) -> int:
    from judge import differ

    try:
        first, second = map(int, options.diff[1:])
    except ValueError:
        return fail("--diff chapters takes two numbers, for example: --diff chapters 2 3")
    for number in (first, second):
        if number not in registry.by_number or registry.by_number[number].planned:
            return fail(f"chapter {number} is not open; python judge/run.py --list shows what there is")
    _print_differences(differ.chapters(registry, first, second), "is the same")
    return 0


def _print_differences(differences: list, same: str) -> None:
    from judge.report import Reporter

    reporter = Reporter()
    for difference in differences:
        told = "" if difference.lines or "  " in difference.title else f" {same}"
        reporter.say(difference.title + told, "bold")
        for line in difference.lines:
            reporter.say(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], ""), wrap=False)


def build_engine(registry, options) -> int:
    """Write the learner's engine as it stands at the last open chapter, and tell which files are theirs."""
    from judge import tree
    from judge.report import Reporter

    last = registry.open_chapters[-1]
    try:
        engine = tree.learners_engine(registry, last)
    except tree.SourceProblem as problem:
        return fail(problem.headline)
    folder = ROOT / options.engine
    if folder.exists() and not (folder / "minisgl").is_dir() and any(folder.iterdir()):
        return fail(f"{options.engine} is not empty and holds no engine; name another folder: --engine FOLDER")
    engine.write(folder)
    reporter = Reporter()
    counts = f"{len(engine.files)} files, {len(engine.base_files)} of them yours"
    reporter.say(f"{options.engine}/minisgl: the engine at chapter {last.number}, {counts}", "bold")
    for shown in engine.base_files:
        reporter.say(f"yours  {shown}", "green", 2)
    reporter.say(f"next: PYTHONPATH={options.engine} python -P chapters/{last.slug}/main.py")
    return 0


def reset(registry, exercise, options) -> int:
    """Put the skeleton of this exercise back; the other exercises in the same file keep what is written."""
    import shutil
    import time

    from judge import skeleton, tree
    from judge.progress import FOLDER

    chapter = registry.chapter_of(exercise)
    pristine = tree.snapshot(registry, chapter)
    backup = FOLDER / "backups" / f"{time.strftime('%Y%m%d-%H%M%S')}-{exercise.number}"
    for path, names in exercise.targets.items():
        file = chapter.folder("chapters") / path
        try:
            mine = tree.read_source(file, chapter.shown(path), str(exercise.number))
            for name in skeleton.expand(pristine[path], names):
                mine = skeleton.replace(mine, name, skeleton.text_of(pristine[path], name))
            fresh = mine
        except (tree.SourceProblem, KeyError):
            fresh = pristine[path]
        if file.is_file():
            kept = backup / path
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, kept)
            print(f"backed up: {kept.relative_to(ROOT)}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fresh, encoding="utf-8")
        print(f"reset:     {chapter.shown(path)}")
    print(f"next: python judge/run.py {exercise.number} --hint")
    return 0


def run_mains(registry, verdicts: list, reporter) -> int:
    """Run main.py of each judged chapter on the learner's tree. Returns 1 if one fails."""
    import subprocess
    import tempfile

    from judge import tree

    worst = 0
    for number in dict.fromkeys(registry.exercises[v.number].chapter for v in verdicts):
        chapter = registry.by_number[number]
        assembled = tree.learners_chapter(registry, chapter)
        reporter.say()
        reporter.say(f"chapters/{chapter.slug}/main.py on your tree", "bold")
        if assembled.filled:
            numbers = dict.fromkeys(entry.split()[0] for entry in assembled.filled)
            reporter.say(f"from the reference, since not written yet: {', '.join(sorted(numbers))}", "dim")
        with tempfile.TemporaryDirectory(prefix="tree-") as folder:
            assembled.write(Path(folder))
            environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
            sys.stdout.flush()
            done = subprocess.run(
                [sys.executable, "-P", str(ROOT / "chapters" / chapter.slug / "main.py")], env=environment, check=False
            )
        reporter.say()
        if done.returncode:
            reporter.say(f"main.py ended with code {done.returncode}", "bold red")
            worst = 1
    return worst
