"""Verdicts as text: made with rich, plain where the output is not a terminal, never by colour alone."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.steps import Chapter, Exercise, Registry
from judge.verdict import Status, Verdict, worst

STYLES = {
    Status.PASS: "bold green", Status.FAIL: "bold red", Status.ERROR: "bold red", Status.TIMEOUT: "bold magenta", Status.MEMORY: "bold magenta",
    Status.NOT_ATTEMPTED: "bold yellow", Status.SKIPPED: "bold cyan", Status.JUDGE_ERROR: "bold red reverse",
}  # fmt: skip
MAX_EVIDENCE = 12
ASCII = str.maketrans(
    {"✗": "x", "✓": "+", "…": "...", "·": "-", "–": "-", "—": "-", "’": "'", "→": "->", "█": "#", "░": "."}
)


def make_console(stream: Any = None, width: int | None = None) -> Console:
    """A console for `stream` that survives any encoding: what it cannot say is replaced."""
    stream = stream or sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    columns = width or (shutil.get_terminal_size((100, 24)).columns if stream.isatty() else 100)
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=max(20, columns), soft_wrap=False)


def _some(names: list[str], most: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class Reporter:
    """Prints verdicts for a learner."""

    def __init__(self, console: Console | None = None, verbose: bool = False) -> None:
        self.console = console or make_console()
        self.verbose = verbose
        encoding = (getattr(self.console.file, "encoding", None) or "utf-8").lower()
        self.plain = not encoding.startswith("utf")

    def say(self, text: str = "", style: str = "", indent: int = 0, hang: int = 0, wrap: bool = True) -> None:
        """Print text, wrapped at the console's width; lines that fit keep their columns, continued ones are indented by `hang` more.

        Long words stay whole, and with `wrap` off whole lines do: what is there to be copied must not be torn.
        """
        text = text.translate(ASCII) if self.plain else text
        text = "".join(c if c.isprintable() or c == "\n" else "?" for c in text.replace("\t", "    "))
        width = max(16, self.console.width - indent)
        for line in text.splitlines() or [""]:
            parts = [line]
            if wrap and len(line) > width:
                after = " " * min(hang, width // 2)
                parts = textwrap.wrap(
                    line, width, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
                )
            for part in parts or [""]:
                self.console.print(Text(" " * indent + part, style=style), overflow="ignore", no_wrap=True, crop=False)

    def verdict(self, verdict: Verdict) -> None:
        """One line with the verdict and counts, one diagnosis, its evidence."""
        self._headline(verdict)
        if self.verbose:
            self._checks(verdict)
        if verdict.diagnosis is not None and verdict.status is not Status.PASS:
            self._diagnosis(verdict)
        if verdict.culprit:
            numbers = ", ".join(map(str, verdict.culprit_exercises))
            self.say("On the reference's base this exercise passes; on yours it fails.", "", 2)
            self.say(f"The file at fault is {verdict.culprit} (exercise {numbers}).", "bold", 2)
        elif verdict.base == "mine":
            self.say(f"your files below it: {_some(verdict.base_files) or 'none is written yet'}", "dim", 2)
        if verdict.filled:
            numbers = dict.fromkeys(entry.split()[0] for entry in verdict.filled)
            self.say(f"from the reference, since not written yet: {', '.join(numbers)}", "dim", 2)
        if verdict.ignored:
            self.say(f"ignored, since this exercise does not ask for it: {_some(verdict.ignored)}", "yellow", 2)
        if verdict.printed.strip() and (self.verbose or verdict.status is not Status.PASS):
            self._printed(verdict.printed)

    def _headline(self, verdict: Verdict) -> None:
        word = verdict.status.upper()
        left = Text.assemble((f"{word}  ", STYLES[verdict.status]), (f"{verdict.number} {verdict.title}", "bold"))
        counts = self._counts(verdict)
        right = f"{counts}   {verdict.seconds:.1f} s"
        width = min(self.console.width, 100)
        if self.plain:
            left = Text(left.plain.translate(ASCII))
        gap = width - left.cell_len - len(right)
        if gap >= 2:
            self.console.print(left + Text(" " * gap + right))
        else:
            self.console.print(left)
            self.say(right, indent=2)

    @staticmethod
    def _counts(verdict: Verdict) -> str:
        total = len(verdict.checks)
        if not total:
            return "no check could run"
        text = f"{verdict.passed} of {total} checks passed"
        skipped = sum(check.status is Status.SKIPPED for check in verdict.checks)
        return f"{text}, {skipped} skipped" if skipped else text

    def _checks(self, verdict: Verdict) -> None:
        for check in verdict.checks:
            mark = "✓" if check.status is Status.PASS else "✗"
            self.say(
                f"{mark} {check.status:<13} {check.title} {f'({check.seconds:.2f} s)' if check.seconds >= 0.005 else ''}",
                STYLES[check.status].replace("bold ", ""),
                2,
            )

    def _diagnosis(self, verdict: Verdict) -> None:
        diagnosis = verdict.diagnosis
        indent = 2
        if verdict.check:
            self.say(f"✗ {verdict.check}", "red", 2)
            indent = 4
        self.say(diagnosis.headline, "", indent)
        for line in diagnosis.lines[:MAX_EVIDENCE]:
            self.say(line, "", indent + 2)
        if diagnosis.where:
            self.say(diagnosis.where, "cyan", indent)

    def _printed(self, text: str) -> None:
        lines = text.strip().splitlines()
        self.say(f"your code printed ({len(lines)} lines):", "dim", 2)
        shown, width = (2000, 2000) if self.verbose else (8, max(20, self.console.width - 5))
        for line in lines[:shown]:
            self.say(line if len(line) <= width else line[: width - 1] + "…", "dim", 4)
        if len(lines) > shown:
            self.say(f"… and {len(lines) - shown} more lines" + ("" if self.verbose else "; -v shows them"), "dim", 4)

    def next_step(self, command: str, verdict: Verdict | None = None) -> None:
        """The last line: the exact next command, and how this verdict can be had again."""
        self.say(f"next: {command}", wrap=False)
        if verdict is not None:
            self.say(f"({verdict.status}; seed {verdict.seed}, sandbox {verdict.sandbox}, base {verdict.base})", "dim")

    def summary(self, verdicts: list[Verdict]) -> None:
        """One line for several exercises, by status."""
        counts: dict[Status, int] = {}
        for verdict in verdicts:
            counts[verdict.status] = counts.get(verdict.status, 0) + 1
        parts = ", ".join(f"{count} {status}" for status, count in counts.items())
        status = worst([verdict.status for verdict in verdicts])
        self.say(f"{status.upper()}  {len(verdicts)} exercises: {parts}", STYLES[status])

    def listing(self, registry: Registry, states: dict[int, Any]) -> None:
        """All chapters and exercises with their state (`progress.State`), a bar, and what is to come."""
        unknown = type("Untried", (), {"status": Status.NOT_ATTEMPTED, "attempts": 0, "note": "", "done": False})()
        for chapter in registry.open_chapters:
            done = sum(states.get(ex.number, unknown).done for ex in chapter.exercises)
            self.say(f"{chapter.number:>2}  {chapter.title}  ({done} of {len(chapter.exercises)})", "bold")
            for exercise in chapter.exercises:
                state = states.get(exercise.number, unknown)
                mark = (
                    "✓" if state.done else "·" if state.status == Status.NOT_ATTEMPTED else "!" if state.note else "✗"
                )
                style = {"✓": "green", "✗": "red", "!": "yellow"}.get(mark, "")
                tries = f", {state.attempts} tries" if state.attempts > 1 else ""
                note = f", passed, {state.note}" if state.note else ""
                self.say(
                    f"{mark} {exercise.number}  {state.status:<13}  {exercise.title} ({exercise.difficulty}{tries}{note})",
                    style,
                    3,
                    hang=22,
                )
        total = len(registry.exercises)
        passed = sum(states.get(number, unknown).done for number in registry.exercises)
        self.say()
        width = max(10, min(40, self.console.width - 24))
        filled = round(width * passed / total) if total else 0
        self.say(f"{'█' * filled}{'░' * (width - filled)}  {passed} of {total} passed")
        later = [chapter for chapter in registry.chapters if chapter.planned]
        if later:
            self.say(f"to come: {', '.join(f'{c.number} {c.title}' for c in later)}", "dim")

    def hints(self, exercise: Exercise, chapter: Chapter, upto: int) -> None:
        self.say(f"{exercise.number} {exercise.title}  ({exercise.difficulty})", "bold")
        for path, names in exercise.targets.items():
            self.say(f"in {chapter.shown(path)}: {', '.join(names)}", "", 2)
        for level, hint in enumerate(exercise.hints[:upto], 1):
            self.say(f"hint {level} of {len(exercise.hints)}: {hint}", "", 2)


def bar_table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    """A plain table for the author's reports."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table
