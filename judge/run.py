"""The learner's command: python judge/run.py TARGET… (an exercise such as 190, a chapter such as 6, next, or all)."""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from judge.commands import build_engine, fail, reset, run_mains, show_chapters, show_diff, show_hint, show_list  # noqa: E402

NEEDED = ("numpy", "pytest", "psutil", "rich", "safetensors", "torch", "transformers", "watchfiles")


def ensure_interpreter() -> None:
    """Go on in .venv if this interpreter lacks the dependencies; without .venv, say how to set up."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if not missing:
        return
    python = ROOT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if python.is_file() and os.environ.get("WORKBOOK_REEXEC") != "1":
        os.environ["WORKBOOK_REEXEC"] = "1"
        os.execv(python, [str(python), *sys.argv])
    if "--doctor" in sys.argv:  # says what is missing
        return
    where = f"{sys.executable} lacks {', '.join(missing)}"
    sys.exit(fail(f"{where}. Set up with one command: make setup"))


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python judge/run.py",
        description="Judge your solution of an exercise. Nothing of yours is ever changed, except by --reset, which backs it up first.",
        epilog="exit codes: 0 passed, 1 failed, 2 wrong usage, 3 not attempted, 4 timeout or memory, 5 a required check was skipped, "
        "70 judge error, 130 interrupted",
    )
    p.add_argument("targets", nargs="*", metavar="TARGET", help="an exercise (190), a chapter (6), next, or all")
    p.add_argument(
        "--base",
        choices=("reference", "mine"),
        default="reference",
        help="earlier chapters: the reference's (default) or your own",
    )
    p.add_argument("--solution", action="store_true", help="judge the reference solution")
    p.add_argument("--file", metavar="PATH", help="judge this file in place of yours")
    p.add_argument("--hint", action="store_true", help="show the next hint")
    p.add_argument(
        "--diff",
        nargs="*",
        metavar="AGAINST",
        help="your file against the skeleton, after a pass against the solution; also --diff skeleton, --diff solution, --diff chapters 2 3",
    )
    p.add_argument(
        "--engine",
        nargs="?",
        const="build/engine",
        metavar="FOLDER",
        help="put your engine together, and say which files are yours",
    )
    p.add_argument("--reset", action="store_true", help="bring the skeleton back (your file is backed up first)")
    p.add_argument("--list", action="store_true", help="all chapters and exercises, and where you are")
    p.add_argument("--watch", action="store_true", help="judge again at every save, with one exercise at a time")
    p.add_argument("--doctor", action="store_true", help="what is installed, what is missing, and the mend")
    p.add_argument("--main", action="store_true", help="after judging a chapter, run its main.py on your tree")
    p.add_argument(
        "--format",
        choices=("text", "json", "junit", "gradescope"),
        default="text",
        help="what stands on stdout (the text goes to stderr then)",
    )
    p.add_argument("--output", metavar="FILE", help="write the report there too (in the format; text becomes json)")
    p.add_argument("--seed", type=int, help="replay a run's fresh seed")
    p.add_argument(
        "--sandbox",
        choices=("auto", "bwrap", "process"),
        default="auto",
        help="what holds your code (auto: bubblewrap where installed)",
    )
    p.add_argument("--device", default="cpu", choices=("cpu",), help="where the engine runs")
    p.add_argument("-v", "--verbose", action="store_true", help="every check, and all that your code printed")
    return p


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.doctor:
        from judge import doctor

        return doctor.main()
    if problem := conflict(options):
        return fail(problem)
    child = None
    if options.watch and (problem := watch_problem(options)):
        return fail(problem)
    if options.targets and not (
        options.list or options.hint or options.diff is not None or options.reset or options.engine
    ):
        from judge.warm import Child, JudgeError, bubblewrap

        if options.output:
            from judge.formats import output_problem

            if problem := output_problem(options.output):
                return fail(problem)
        if options.sandbox == "bwrap" and bubblewrap() is None:
            return fail("bubblewrap is not installed; on Debian and Ubuntu: apt install bubblewrap")
        if options.main and options.format != "text":
            return fail("--main shows what main.py prints: leave out --format")
        try:
            child = Child("sandbox", sandbox=options.sandbox)  # torch loads there while this process goes on
        except (JudgeError, OSError) as error:
            from judge.formats import Report

            return _broken(Report(options.format, [], options.output), error)
    try:
        return _command(options, child)
    finally:
        if child is not None:
            child.close()


def _command(options: argparse.Namespace, child) -> int:
    from judge.steps import StepsError, load

    try:
        registry = load()
    except StepsError as error:
        return fail(str(error))
    if options.list:
        return show_list(registry, None, options)
    if options.engine:
        return build_engine(registry, options)
    if options.diff and options.diff[0] == "chapters":
        return show_chapters(registry, options)
    if not options.targets:
        return fail("which exercise? For example: python judge/run.py 190   (python judge/run.py --list shows all)")
    try:
        exercises = resolve(registry, options.targets)
    except ValueError as error:
        return fail(str(error))
    if not exercises:
        print(
            "All exercises passed. Nothing is left to do.", file=sys.stdout if options.format == "text" else sys.stderr
        )
        return 0
    for flag, action in (("hint", show_hint), ("diff", show_diff), ("reset", reset)):
        if getattr(options, flag) not in (None, False):
            return max(action(registry, exercise, options) for exercise in exercises)
    if options.file and Path(options.file).is_file() and not os.access(options.file, os.R_OK):
        return fail(f"--file: {options.file} cannot be read")
    if options.file and (len(exercises) != 1 or not Path(options.file).is_file()):
        return fail(
            "--file judges one file for one exercise" if len(exercises) != 1 else f"--file: {options.file} is not there"
        )
    if options.watch:
        from judge.watch import watch

        actions = {"h": show_hint, "d": show_diff, "l": show_list, "next": next_command}
        return watch(registry, exercises, options, child, actions)
    return judge(registry, exercises, options, child)


def conflict(options: argparse.Namespace) -> str | None:
    """Options that exclude each other, or None."""
    actions = [
        f"--{name}"
        for name in ("hint", "diff", "reset", "list", "engine", "watch")
        if getattr(options, name) not in (None, False)
    ]
    if len(actions) > 1:
        return f"{' and '.join(actions)}: one at a time, please"
    if options.solution and (options.file or options.base == "mine"):
        return "--solution judges the reference: leave out " + ("--file" if options.file else "--base mine")
    if options.list and options.targets:
        return "--list shows everything: leave out " + " ".join(options.targets)
    return None


def watch_problem(options: argparse.Namespace) -> str | None:
    """Why --watch cannot go with the other options, or None."""
    given = [f"--{name}" for name in ("solution", "file", "main", "output") if getattr(options, name)]
    given += ["--format"] if options.format != "text" else []
    return f"--watch judges your own file and shows text: leave out {', '.join(given)}" if given else None


def resolve(registry, targets: list[str]) -> list:
    """Exercises that the targets name, in order, each once.

    Raises:
        ValueError: an unknown target, with the nearest known one.
    """
    chosen: dict[int, object] = {}
    for target in targets:
        number = int(target) if target.isascii() and target.isdigit() else None
        if target == "all":
            found = list(registry.exercises.values())
        elif target == "next":
            from judge.progress import Progress

            found = Progress().upcoming(registry)[:1]
        elif number in registry.exercises:
            found = [registry.exercises[number]]
        elif number in registry.by_number:
            chapter = registry.by_number[number]
            if chapter.planned:
                raise ValueError(f"chapter {number} ({chapter.title}) is not open yet")
            found = list(chapter.exercises)
        else:
            known = (
                [str(n) for n in registry.exercises] + [str(c.number) for c in registry.open_chapters] + ["next", "all"]
            )
            near = difflib.get_close_matches(target, known, 3, 0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "python judge/run.py --list shows what there is."
            raise ValueError(f"unknown target '{target}': {hint}")
        chosen |= {ex.number: ex for ex in found}
    return list(chosen.values())


def judge(registry, exercises: list, options, child) -> int:
    own = not (options.solution or options.file)
    overrides = _override(exercises[0], options.file) if options.file else None
    from judge.formats import Report
    from judge.progress import Progress
    from judge.report import Reporter, make_console
    from judge.runner import Judge
    from judge.verdict import Status

    report = Report(options.format, exercises, options.output)
    reporter = Reporter(make_console(sys.stdout if options.format == "text" else sys.stderr), options.verbose)
    progress = Progress()
    runner = Judge(registry, child, seed=options.seed)
    verdicts = []
    told = False
    try:
        try:
            for exercise in exercises:
                how = (
                    {"solution": True}
                    if options.solution
                    else {"overrides": overrides, "base": options.base, "given": options.file}
                )
                verdict = runner.judge(exercise, **how)
                runner.blame(exercise, verdict, **how)
                verdicts.append(verdict)
                report.add(verdict)
                if own:
                    progress.record(exercise, registry.chapter_of(exercise), verdict)
                brief = told and not options.verbose
                _show(reporter, verdict, brief)
                told = told or verdict.status is not Status.PASS
        finally:
            runner.close()
            if own and verdicts:
                progress.save()
        return _finish(registry, verdicts, options, reporter, progress, report)
    except KeyboardInterrupt:
        report.interrupted(sys.stdout)
        raise
    except BrokenPipeError:
        raise
    except Exception as error:
        return _broken(report, error)


def _broken(report, error: Exception) -> int:
    """The judge itself failed outside of a verdict: say so, in the report too."""
    from judge.verdict import EXIT_CODES, Status

    report.crashed(sys.stdout, error)
    print(f"JUDGE ERROR  the judge itself failed: {type(error).__name__}: {error}", file=sys.stderr)
    return EXIT_CODES[Status.JUDGE_ERROR]


def _override(exercise, path: str) -> dict[str, bytes]:
    """Which file of the exercise `--file` stands for: the one of the same name, else the only one."""
    given = Path(path)
    same = [target for target in exercise.targets if Path(target).name == given.name]
    target = same[0] if same else next(iter(exercise.targets))
    return {target: given.read_bytes()}


def _show(reporter, verdict, brief: bool) -> None:
    from dataclasses import replace

    if brief:  # one diagnosis at a time
        verdict = replace(verdict, diagnosis=None, filled=[], ignored=[], printed="")
    reporter.verdict(verdict)


def _finish(registry, verdicts: list, options, reporter, progress, report) -> int:
    from judge.verdict import EXIT_CODES, Status, exit_code

    first = next((v for v in verdicts if v.status is not Status.PASS), verdicts[-1])
    command = next_command(registry, first, options)
    report.finish(sys.stdout, command)
    code = exit_code(verdicts)
    if report.problem:
        reporter.say(report.problem, "bold red")
        code = EXIT_CODES[Status.JUDGE_ERROR]
    if options.main and options.format == "text":
        code = run_mains(registry, verdicts, reporter) or code
    if len(verdicts) > 1:
        reporter.summary(verdicts)
    for message in progress.messages:
        reporter.say(message, "yellow")
    reporter.next_step(command, first)
    return code


def next_command(registry, verdict, options) -> str:
    from judge.verdict import Status

    extra = " --base mine" if options.base == "mine" else ""
    if verdict.culprit_exercises:
        return f"python judge/run.py {verdict.culprit_exercises[0]}"
    if verdict.status is Status.PASS:
        if options.solution:
            return f"python judge/run.py {verdict.number}"
        later = [n for n in registry.exercises if n > verdict.number]
        return f"python judge/run.py {later[0]}" if later else "python judge/run.py all   (this was the last exercise)"
    if verdict.status is Status.NOT_ATTEMPTED:
        where = next(iter(verdict.judged.values()), "your file")
        return f"write {where}, then python judge/run.py {verdict.number}{extra}"
    if verdict.status is Status.SKIPPED:
        return verdict.diagnosis.headline.split(": ", 1)[-1] if verdict.diagnosis else "make setup"
    if verdict.status is Status.JUDGE_ERROR:
        return f"python judge/run.py {verdict.number} --solution   (does the reference pass?)"
    return f"python judge/run.py {verdict.number} --hint"


if __name__ == "__main__":
    ensure_interpreter()
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # ends as Ctrl-C does: nothing left running, a report written
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted: nothing was changed", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
