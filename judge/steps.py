"""steps.toml as validated data classes: the only registry of chapters, files and exercises."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIFFICULTIES = ("easy", "medium", "hard")
DEFAULT_SECONDS = 20


class StepsError(Exception):
    """steps.toml says something that cannot be right. The text names the line, the entry and the mend."""


@dataclass(frozen=True)
class Exercise:
    """One exercise: the symbols that the learner writes, and how they are judged."""

    number: int
    slug: str
    title: str
    difficulty: str
    write: tuple[str, ...]  # "engine/sample.py:Sampler.prepare"
    hints: tuple[str, ...]
    chapter: int
    seconds: float = DEFAULT_SECONDS  # wall-clock limit of one probe

    @property
    def is_gate(self) -> bool:
        return self.number % 10 == 9

    @cached_property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """File -> symbols to write in it, in the order of `write`."""
        files: dict[str, list[str]] = {}
        for entry in self.write:
            path, symbol = entry.split(":")
            files.setdefault(path, []).append(symbol)
        return {path: tuple(symbols) for path, symbols in files.items()}


@dataclass(frozen=True)
class Chapter:
    """One chapter: its files and its exercises. A planned chapter lends early files but is not open yet."""

    number: int
    slug: str
    title: str
    stage: int
    new: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    early: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    planned: bool = False
    exercises: tuple[Exercise, ...] = field(default=())

    @property
    def package(self) -> str:
        """Folder of the engine below the chapter's folder. Chapter 0 is one file and has none."""
        return "minisgl" if self.number else ""

    @property
    def own_files(self) -> tuple[str, ...]:
        return self.new + self.modified

    def folder(self, base: str) -> Path:
        """Where this chapter's engine files lie below `base` ("chapters" or "solutions")."""
        return ROOT / base / self.slug / self.package

    def shown(self, path: str, base: str = "chapters") -> str:
        """The path of an engine file as a learner types it."""
        return "/".join(part for part in (base, self.slug, self.package, path) if part)


@dataclass(frozen=True)
class Registry:
    """All chapters in order, with look-ups by number."""

    chapters: tuple[Chapter, ...]

    @cached_property
    def by_number(self) -> dict[int, Chapter]:
        return {chapter.number: chapter for chapter in self.chapters}

    @cached_property
    def exercises(self) -> dict[int, Exercise]:
        return {ex.number: ex for chapter in self.chapters for ex in chapter.exercises}

    @property
    def open_chapters(self) -> list[Chapter]:
        return [chapter for chapter in self.chapters if not chapter.planned]

    def home(self, path: str) -> Chapter:
        """The chapter that declares `path` as new."""
        return next(chapter for chapter in self.chapters if path in chapter.new)

    def chapter_of(self, exercise: Exercise) -> Chapter:
        return self.by_number[exercise.chapter]


CHAPTER_FIELDS = {
    "number": int, "slug": str, "title": str, "stage": int, "new": list, "modified": list,
    "early": list, "changes": list, "planned": bool, "exercise": list,
}  # fmt: skip
EXERCISE_FIELDS = {
    "number": int, "slug": str, "title": str, "difficulty": str, "write": list, "hints": list, "seconds": (int, float),
}  # fmt: skip
OPTIONAL = {"new", "modified", "early", "changes", "planned", "exercise", "seconds"}


def load(path: Path = ROOT / "steps.toml") -> Registry:
    """Read and check the registry.

    Raises:
        StepsError: with the file, the line where it can be found, the entry and what to do about it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StepsError(f"{path.name}: cannot be read ({error.strerror}). Restore it from the repository.") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StepsError(f"{path.name}: not valid TOML: {error}.") from None
    return _Reader(path.name, text).registry(data)


class _Reader:
    def __init__(self, name: str, text: str) -> None:
        self.name, self.lines = name, text.splitlines()

    def registry(self, data: dict) -> Registry:
        for key in data:
            if key != "chapter":
                self.fail(f"unknown top-level entry '{key}'", "only [[chapter]] tables stand here", key)
        chapters = tuple(self.chapter(raw) for raw in data.get("chapter", []))
        if not chapters:
            self.fail("no chapter", "add a [[chapter]] table")
        numbers = [chapter.number for chapter in chapters]
        if numbers != sorted(set(numbers)):
            self.fail(f"chapter numbers {numbers} are not strictly ascending", "sort them and give each its own number")
        registry = Registry(chapters)
        self.check_exercises(registry)
        self.check_files(registry)
        return registry

    def chapter(self, raw: dict) -> Chapter:
        where = f"chapter {raw.get('number', '?')}"
        self.fields(raw, CHAPTER_FIELDS, where)
        number = raw["number"]
        if raw["slug"][:3] != f"{number:02d}_":
            self.fail(f"{where}: slug '{raw['slug']}' does not start with '{number:02d}_'", "rename it", raw["slug"])
        exercises = tuple(self.exercise(entry, number) for entry in raw.get("exercise", []))
        lists = {key: tuple(raw.get(key, [])) for key in ("new", "modified", "early", "changes")}
        return Chapter(
            number, raw["slug"], raw["title"], raw["stage"], **lists,
            planned=raw.get("planned", False), exercises=exercises,
        )  # fmt: skip

    def exercise(self, raw: dict, chapter: int) -> Exercise:
        where = f"exercise {raw.get('number', '?')}"
        self.fields(raw, EXERCISE_FIELDS, where)
        number, low = raw["number"], 130 + 10 * chapter
        if not low <= number < low + 10:
            self.fail(
                f"{where} stands in chapter {chapter}",
                f"chapter {chapter} owns {low} to {low + 9}",
                f"number = {number}",
            )
        if raw["difficulty"] not in DIFFICULTIES:
            self.fail(
                f"{where}: difficulty '{raw['difficulty']}'",
                f"use one of {', '.join(DIFFICULTIES)}",
                f"number = {number}",
            )
        if len(raw["hints"]) != 3 or not all(isinstance(hint, str) and hint.strip() for hint in raw["hints"]):
            self.fail(
                f"{where} has {len(raw['hints'])} hints",
                "give three: a question, where to look, the shape of the code",
                f"number = {number}",
            )
        if not raw["write"]:
            self.fail(f"{where} asks for nothing", "name at least one symbol in `write`", f"number = {number}")
        for entry in raw["write"]:
            if not isinstance(entry, str) or entry.count(":") != 1 or not entry.split(":")[1]:
                self.fail(
                    f"{where}: write entry '{entry}'",
                    "write it as 'folder/file.py:Class.method' or 'folder/file.py:function'",
                    str(entry),
                )
        if raw.get("seconds", DEFAULT_SECONDS) <= 0:
            self.fail(f"{where}: seconds = {raw['seconds']}", "give a positive number of seconds", f"number = {number}")
        return Exercise(
            number, raw["slug"], raw["title"], raw["difficulty"], tuple(raw["write"]), tuple(raw["hints"]),
            chapter, raw.get("seconds", DEFAULT_SECONDS),
        )  # fmt: skip

    def fields(self, raw: dict, known: dict, where: str) -> None:
        for key, value in raw.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                mend = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"
                self.fail(f"{where}: unknown field '{key}'", mend, f"{key} =")
            wrong_bool = isinstance(value, bool) and known[key] is not bool
            if wrong_bool or not isinstance(value, known[key]):
                self.fail(
                    f"{where}: field '{key}' is {value!r}", "give it the type that the other entries have", f"{key} ="
                )
        for key in known:
            if key not in raw and key not in OPTIONAL:
                self.fail(f"{where}: field '{key}' is missing", f"add `{key} = …`", f"number = {raw.get('number')}")

    def check_exercises(self, registry: Registry) -> None:
        seen: dict[int, str] = {}
        for chapter in registry.chapters:
            for ex in chapter.exercises:
                if ex.number in seen:
                    self.fail(
                        f"exercise {ex.number} is declared twice",
                        "numbers are stable and unique",
                        f"number = {ex.number}",
                    )
                seen[ex.number] = ex.slug
                for path in ex.targets:
                    if path not in chapter.own_files:
                        self.fail(
                            f"exercise {ex.number} writes in {path}, which chapter {chapter.number} neither adds nor modifies",
                            "add the file to `new` or `modified`, or move the exercise", path,
                        )  # fmt: skip

    def check_files(self, registry: Registry) -> None:
        home: dict[str, int] = {}
        for chapter in registry.chapters:
            for path in chapter.new:
                if path in home:
                    self.fail(
                        f"{path} is new in chapters {home[path]} and {chapter.number}",
                        "put it under `modified` in the later one",
                        path,
                    )
                home[path] = chapter.number
        for chapter in registry.chapters:
            for path in chapter.modified:
                if home.get(path, 99) >= chapter.number:
                    self.fail(
                        f"chapter {chapter.number} modifies {path}, which no earlier chapter adds",
                        "put it under `new`",
                        path,
                    )
            for path in chapter.early:
                if home.get(path, -1) <= chapter.number:
                    self.fail(
                        f"chapter {chapter.number} brings {path} in early, but no later chapter adds it",
                        "name it under `new` in its home chapter",
                        path,
                    )
            for entry in chapter.changes:
                if entry.split(":")[0] not in chapter.modified:
                    self.fail(
                        f"chapter {chapter.number}: changes names '{entry}', whose file is not under `modified`",
                        "add the file there or drop the entry",
                        entry,
                    )
            if not chapter.planned and not chapter.own_files:
                self.fail(
                    f"chapter {chapter.number} has no files",
                    "fill `new` or `modified`, or set `planned = true`",
                    chapter.slug,
                )

    def fail(self, what: str, mend: str, needle: str | None = None) -> None:
        line = next((i for i, text in enumerate(self.lines, 1) if needle and needle in text), None)
        place = f"{self.name}:{line}" if line else self.name
        raise StepsError(f"{place}: {what}. Mend: {mend}.")
