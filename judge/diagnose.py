"""From what a check found to the one sentence that a good teacher would say."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from judge import skeleton
from judge.expect import Mismatch
from judge.sandbox import ProbeFailed, innermost_line
from judge.steps import ROOT, Chapter, Exercise
from judge.tree import Assembled
from judge.verdict import Diagnosis, Status

WRONG = ROOT / "judge" / "wrong"
HEADER = re.compile(r"\A# /// (?:wrong|right)\n(?P<body>(?:#.*\n)+?)# ///\n")
OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|DefaultCPUAllocator", re.I)


@dataclass(frozen=True)
class Context:
    """What a diagnosis may look at: the exercise and the tree that was judged."""

    exercise: Exercise
    chapter: Chapter
    tree: Assembled
    folder: str
    solution: bool

    def relative(self, path: str) -> str:
        prefix = f"{self.tree.package}/" if self.tree.package else ""
        return path.removeprefix(prefix)


class HeaderError(Exception):
    """A file in judge/wrong or judge/right has a header that cannot be used."""


@cache
def wrong_header(path: Path) -> dict:
    """The TOML block at the top of a known-wrong (or right) solution.

    Raises:
        HeaderError: naming the file and the mend.
    """
    match = HEADER.match(path.read_text(encoding="utf-8"))
    name = f"{path.parent.parent.name}/{path.parent.name}/{path.name}"
    if match is None:
        raise HeaderError(f"{name}: start it with '# /// wrong', lines of '# key = value', and '# ///'")
    body = "".join(line.removeprefix("#").removeprefix(" ") for line in match["body"].splitlines(keepends=True))
    try:
        return tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        raise HeaderError(f"{name}: its header is not valid TOML: {error}") from None


def sentence(mistake: str, exercise: Exercise) -> str | None:
    """What a teacher says about a known mistake: from this exercise's wrong solutions, else from another exercise's."""
    for path in [WRONG / str(exercise.number) / f"{mistake}.py", *sorted(WRONG.glob(f"*/{mistake}.py"))]:
        if path.is_file():
            return wrong_header(path).get("says")
    return None


def mismatch(error: Mismatch, context: Context) -> Diagnosis:
    """A failed comparison: the known mistake's sentence where one was recognised, else what differs."""
    lines = list(error.lines)
    where = _place_of_symbol(context)
    if error.mistake:
        says = sentence(error.mistake, context.exercise)
        if says:
            return Diagnosis("mistake", says, [error.headline, *lines], where, error.mistake)
        return Diagnosis("mistake", error.headline, lines, where, error.mistake)
    return Diagnosis(error.kind, error.headline, lines, where)


def _place_of_symbol(context: Context) -> str | None:
    """What the exercise asks for: where to look when no line is known."""
    if len(context.exercise.write) > 1:
        return ", ".join(f"{path}: {', '.join(names)}" for path, names in context.exercise.targets.items())
    path, name = context.exercise.write[0].split(":")
    symbol = skeleton.symbols(context.tree.files.get(path, "")).get(name)
    return f"{path}:{symbol.node.lineno}  {name}" if symbol else None


def probe_failure(failure: ProbeFailed, context: Context) -> tuple[Status, Diagnosis]:
    """A probe that gave no evidence: raised, ended early, ran too long, used too much."""
    status = Status(failure.status)
    if failure.kind == "exception":
        return _exception(failure.data, context)
    if failure.kind == "timeout":
        return status, _timeout(failure, context)
    if failure.kind == "memory":
        return status, Diagnosis(
            "memory",
            f"your code {failure.headline}",
            ["Look for a tensor whose size grows with the square of a length, or a list that never ends."],
        )
    headline = (
        failure.headline
        if failure.kind in ("exited", "killed-parent", "malformed")
        else f"your code {failure.headline}"
    )
    return status, Diagnosis(failure.kind, headline)


def _timeout(failure: ProbeFailed, context: Context) -> Diagnosis:
    found = innermost_line(failure.data.get("stacks", ""), context.folder)
    if found is None:
        return Diagnosis("timeout", f"your code was {failure.headline}", ["Look for a loop that never ends."])
    path, line, function = found
    text = _source_line(context, context.relative(path), line)
    where = f"{context.relative(path)}:{line}  {function}"
    return Diagnosis(
        "timeout", f"your code was {failure.headline}, in {function}", [f"{line} | {text}"] if text else [], where
    )


def _source_line(context: Context, path: str, line: int) -> str:
    lines = context.tree.files.get(path, "").splitlines()
    return lines[line - 1].strip()[:100] if 0 < line <= len(lines) else ""


def _exception(data: dict, context: Context) -> tuple[Status, Diagnosis]:
    kind, text = data["type"], data["text"]
    frames = [(context.relative(path), line, function, source) for path, line, function, source in data["frames"]]
    mine = [frame for frame in frames if frame[0] in context.tree.judged]
    own = [frame for frame in mine if not _is_given(frame, context)]  # written by the learner, not handed out
    place = (own or mine or frames or [None])[-1]
    where = f"{place[0]}:{place[1]}  {place[2]}" if place else None
    code = [f"{place[1]} | {place[3].strip()}"] if place and place[3].strip() else []
    if place and frames and frames[-1] is not place:
        path, line, function, source = frames[-1]
        code.append(f"raised in {function} ({path}:{line}), which this line calls: {source.strip()}"[:200])
    if "NotImplementedError" in data["kinds"] and text.startswith("TODO "):
        return Status.NOT_ATTEMPTED, Diagnosis(
            "not-attempted", f"not written yet: {place[2] if place else 'a part'}", [text], where
        )
    if "MemoryError" in data["kinds"] or OUT_OF_MEMORY.search(text):
        return Status.MEMORY, Diagnosis(
            "memory", "your code asked for more memory than there is", [*code, text.splitlines()[0][:160]], where
        )
    if "SystemExit" in data["kinds"]:
        return Status.ERROR, Diagnosis(
            "exited", f"your code left with sys.exit({text}) before the check was done", code, where
        )
    if kind == "EOFError" and "line" in text:
        return Status.ERROR, Diagnosis(
            "exception", "your code waits for input from the keyboard; the judge has none to give", code, where
        )
    if data["imports"] or (place and place[2] == "<module>"):
        return Status.ERROR, Diagnosis(
            "cannot-import", f"your file cannot be imported: {kind}: {_first_line(text)}", code, where
        )
    if "NameError" in data["kinds"] and place:
        names = skeleton.bound_names(context.tree.files.get(place[0], ""))
        if near := difflib.get_close_matches(data["name"], sorted(names), 1, 0.6):
            code.append(f"Did you mean {near[0]}?")
    return Status.ERROR, Diagnosis("exception", f"{kind}: {_first_line(text)}", code, where)


def _is_given(frame: tuple[str, int, str, str], context: Context) -> bool:
    """True if the frame lies in a function that is handed out as it stands: the reference's, and in no exercise's `write`."""
    path, line = frame[0], frame[1]
    source = context.tree.files.get(path, "")
    around = [s for s in skeleton.symbols(source).values() if s.first <= line <= s.last and not s.is_class]
    solution = context.chapter.folder("solutions") / path
    if not around or not solution.is_file() or around[0].name in context.exercise.targets.get(path, ()):
        return False
    return skeleton.same(source, solution.read_text(encoding="utf-8"), around[0].name)


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:240] if lines else "(no text)"
