"""Watch mode: a verdict after every save, from a child that keeps torch loaded, and keys in between.

One thread waits for events below chapters/ and tells the main thread through a pipe. The main thread judges, and looks at the pipe and at
the keyboard while a probe runs: a new save ends that probe, and its verdict is neither shown nor recorded. The run's seed stays the same
until the command is started again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable

from judge.progress import Progress
from judge.report import Reporter, make_console
from judge.runner import Judge
from judge.sandbox import Cancelled
from judge.saves import POLL_MS, Saves, fingerprint, settle, watched_files
from judge.steps import ROOT, Exercise, Registry
from judge.terminal import Keyboard, Stop, at_a_terminal, ignore_ends, orderly_end
from judge.verdict import Status, Verdict
from judge.warm import Child

KEYS = ("n next", "h hint", "d diff", "l list", "r run again", "q quit")


class Session:
    """One exercise at a time, from save to verdict, until `q`."""

    def __init__(
        self,
        registry: Registry,
        exercise: Exercise,
        options: argparse.Namespace,
        saves: Saves,
        keyboard: Keyboard | None,
        actions: dict[str, Callable],
    ) -> None:
        self.registry, self.options, self.saves, self.keyboard, self.actions = registry, options, saves, keyboard, actions
        self.judge: Judge | None = None
        self.keys: deque[str] = deque()
        self.noticed, self.told_polling = False, False
        self._go_to(exercise)

    def _go_to(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.files = watched_files(self.registry, exercise, self.options.base)
        self.judged = ""  # the fingerprint that the last verdict is about

    def loop(self) -> int:
        due = True
        while True:
            if due:
                self._verdict()
            if not self.keys and not self._changed():
                self._listen(None)
            if self.keys:
                key = self.keys.popleft()
                if key == "q":
                    return 0
                due = self._press(key)
            else:
                due = self._changed()
            if self.saves.polling and not self.told_polling:
                self._status()

    def cancelled(self) -> bool:
        """Asked while a probe runs: is its verdict no longer wanted?"""
        self._listen(0)
        if any(key in "nqr" for key in self.keys):
            return True
        noticed, self.noticed = self.noticed, False
        return noticed and self._changed()

    def _changed(self) -> bool:
        return fingerprint(self.files) != self.judged

    def _listen(self, seconds: float | None) -> None:
        """Wait for a save or a key, and note them."""
        heard = [self.saves.pipe] + ([self.keyboard.fd] if self.keyboard else [])
        ready, _, _ = select.select(heard, [], [], seconds)
        if self.saves.pipe in ready:
            os.read(self.saves.pipe, 4096)
            self.noticed = True
        if self.keyboard and self.keyboard.fd in ready:
            self.keys.extend(key for key in self.keyboard.read() if key in "nhdlrq\x04")
            self.keys = deque("q" if key == "\x04" else key for key in self.keys)  # Ctrl-D
        if self.keyboard and self.keyboard.resumed:
            self.keyboard.resumed = False
            self.keys.append("r")

    def _verdict(self) -> None:
        self.judged = settle(self.files)
        if self.keyboard:
            self._reporter().say(f"judging {self.exercise.number} …", "dim")
        try:
            verdict = self.judge.judge(self.exercise, base=self.options.base)
            self.judge.blame(self.exercise, verdict, base=self.options.base)
        except Cancelled:
            verdict = None
        if verdict is None or self._changed():  # it would be about a file that is no more
            self.judged = ""
        else:
            self._show(verdict)

    def _show(self, verdict: Verdict) -> None:
        progress = Progress()  # read anew: a hint, or another terminal, may have written it
        progress.record(self.exercise, self.registry.chapter_of(self.exercise), verdict)
        progress.save()
        reporter = self._reporter()
        if self.keyboard and os.environ.get("TERM") != "dumb":
            reporter.console.clear()
        reporter.verdict(verdict)
        for message in progress.messages:
            reporter.say(message, "yellow")
        reporter.next_step(self._advice(verdict), verdict)
        self._status()

    def _advice(self, verdict: Verdict) -> str:
        if verdict.status is Status.PASS:
            following = self._following()
            if following is None:
                return "all other exercises are done too; q ends"
            if self.keyboard:
                return f"press n for {following.number} {following.title}"
            return f"python judge/run.py {following.number} --watch"
        if verdict.status is Status.NOT_ATTEMPTED:
            return f"write {next(iter(verdict.judged.values()), 'your file')} and save it"
        if verdict.status in (Status.SKIPPED, Status.JUDGE_ERROR):
            return self.actions["next"](self.registry, verdict, self.options)
        return "change your file and save it, or press h for a hint" if self.keyboard else "change your file and save it"

    def _following(self) -> Exercise | None:
        """The next exercise that is not done; after the last one, the first."""
        left = [ex for ex in not_done(self.registry, self.registry.exercises.values()) if ex is not self.exercise]
        return min(left, key=lambda ex: (ex.number < self.exercise.number, ex.number), default=None)

    def _press(self, key: str) -> bool:
        """Do what the key asks for. Returns whether a verdict is due."""
        if key == "r":
            return True
        if key == "n":
            following = self._following()
            if following is not None:
                self._go_to(following)
                return True
            self._reporter().say("All other exercises are done.")
        else:
            self._reporter().say()
            self.actions[key](self.registry, self.exercise, self.options)
        self._status()
        return False

    def _status(self) -> None:
        reporter = self._reporter()
        chapter = self.registry.chapter_of(self.exercise)
        parts = ["watching " + ", ".join(chapter.shown(path) for path in self.exercise.targets)]
        parts += KEYS if self.keyboard else ["Ctrl-C ends it"]
        if self.saves.polling and not self.told_polling:
            self.told_polling = True
            reporter.say(f"looking at the files every {POLL_MS / 1000:g} s, since {self.saves.polling}", "dim")
        for line in lay_out(parts, reporter.console.width):
            reporter.say(line, "cyan")

    def _reporter(self) -> Reporter:
        """A new one each time: the window may have another size now."""
        return Reporter(make_console(sys.stdout), self.options.verbose)


def not_done(registry: Registry, exercises: Iterable[Exercise]) -> list[Exercise]:
    states = Progress().states(registry)
    return [ex for ex in exercises if ex.number not in states or not states[ex.number].done]


def lay_out(parts: list[str], width: int) -> list[str]:
    """One line if it holds all parts, else the first part alone and the others below it; a part is never broken over two."""
    if len(line := parts[0] + "   " + "  ".join(parts[1:])) <= width:
        return [line]
    lines = [parts[0], ""]
    for part in parts[1:]:
        longer = f"{lines[-1]}  {part}".strip()
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def watch(registry: Registry, exercises: list[Exercise], options: argparse.Namespace, child: Child, actions: dict[str, Callable]) -> int:
    """Watch the first of the exercises that is not done. Returns the exit code.

    Args:
        actions: "h", "d" and "l" print what these keys show, from the registry, the exercise and the options; "next" returns the command to
            type after a verdict, from the registry, the verdict and the options.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after everything is cleaned up.
    """
    first = [*not_done(registry, exercises), *exercises][0]
    try:
        with orderly_end(), contextlib.ExitStack() as stack:
            saves = stack.enter_context(contextlib.closing(Saves(ROOT / "chapters")))
            keyboard = Keyboard(sys.stdin.fileno()) if at_a_terminal() else None
            session = Session(registry, first, options, saves, keyboard, actions)
            session.judge = stack.enter_context(contextlib.closing(Judge(registry, child, options.seed, session.cancelled)))
            if keyboard:
                stack.enter_context(keyboard)
            stack.callback(ignore_ends)
            return session.loop()
    except Stop as stop:
        if stop.number == signal.SIGINT:
            raise
        return 128 + stop.number
