"""Differences, function by function: a learner's file against the skeleton or the solution, and one chapter's engine against another's."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from judge import skeleton
from judge import tree as trees
from judge.steps import Exercise, Registry


@dataclass(frozen=True)
class Difference:
    """What differs in one file: a headline and the lines of a unified diff, without file headers."""

    title: str
    lines: tuple[str, ...]


def lines_between(old: str, new: str) -> tuple[str, ...]:
    """The hunks of a unified diff of two texts."""
    return tuple(list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:])


def mine(registry: Registry, exercise: Exercise, against: str) -> list[Difference]:
    """The learner's files of an exercise against "skeleton" (whole file) or "solution" (each symbol that the exercise asks for).

    Raises:
        tree.SourceProblem: if a file cannot be read.
    """
    chapter = registry.chapter_of(exercise)
    found = []
    for path, names in exercise.targets.items():
        shown = chapter.shown(path)
        source = trees.read_source(chapter.folder("chapters") / path, shown, str(exercise.number))
        if against == "skeleton":
            found.append(Difference(shown, lines_between(trees.snapshot(registry, chapter)[path], source)))
            continue
        solution = (chapter.folder("solutions") / path).read_text(encoding="utf-8")
        for name in skeleton.expand(solution, names):
            ours = skeleton.text_of(source, name) if name in skeleton.symbols(source) else ""
            found.append(Difference(f"{shown}: {name}", lines_between(ours, skeleton.text_of(solution, name))))
    return found


def chapters(registry: Registry, first: int, second: int) -> list[Difference]:
    """What the reference engine gains from one chapter to another: new files, and the symbols that changed."""
    before, after = trees.reference(registry, first), trees.reference(registry, second)
    found = []
    for path, source in after.items():
        if path not in before:
            names = [name for name in skeleton.symbols(source) if "." not in name]
            told = f": {', '.join(names)}" if names else ""
            found.append(Difference(f"new      {path} ({len(source.splitlines())} lines){told}", ()))
        elif before[path] != source:
            found += _changed(path, before[path], source)
    found += [Difference(f"removed  {path}", ()) for path in before if path not in after]
    return found


def _changed(path: str, before: str, after: str) -> list[Difference]:
    changed = skeleton.drift(before, after, set())
    old, new = skeleton.symbols(before), skeleton.symbols(after)
    found = []
    for name in changed:
        was = skeleton.text_of(before, name) if name in old else ""
        becomes = skeleton.text_of(after, name) if name in new else ""
        if name in old and name in new and new[name].is_class:
            continue  # its methods are told one by one; the class itself would repeat them
        if name.split(".")[0] in changed and "." in name and name.split(".")[0] not in old:
            continue  # a new class is told as a whole
        word = "changed" if name in old and name in new else "added  " if name in new else "dropped"
        found.append(Difference(f"{word}  {path}: {name}", lines_between(was, becomes)))
    return found or [Difference(f"changed  {path}", lines_between(before, after))]
