"""Rebuild the engine as it stands at a chapter, swap in the learner's files, fill what they have not written yet."""

from __future__ import annotations

import ast
import contextlib
import difflib
import hashlib
import stat
from dataclasses import dataclass, field
from pathlib import Path

from judge import skeleton
from judge.steps import ROOT, Chapter, Exercise, Registry

MAX_SOURCE_BYTES = 1 << 20


class SourceProblem(Exception):
    """A learner's file cannot be judged: missing, unreadable, or not Python. Carries what the report shows."""

    def __init__(self, path: str, headline: str, lines: tuple[str, ...] = (), kind: str = "cannot-import") -> None:
        super().__init__(headline)
        self.path, self.headline, self.lines, self.kind = path, headline, lines, kind


@dataclass
class Assembled:
    """A tree ready to be judged: file -> source, and what the report has to tell about it."""

    files: dict[str, str]
    package: str
    judged: dict[str, str] = field(default_factory=dict)  # file in the tree -> path shown to the learner
    filled: list[str] = field(default_factory=list)  # symbols taken from the reference
    ignored: list[str] = field(default_factory=list)  # edited files that this exercise does not ask for
    base_files: list[str] = field(default_factory=list)  # with base "mine": the learner's files below the exercise
    attempted: bool = True

    def write(self, folder: Path) -> None:
        for path, source in self.files.items():
            target = folder / self.package / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source, encoding="utf-8")


def reference_paths(registry: Registry, number: int) -> dict[str, Path]:
    """File -> path of its source at chapter `number`: the solutions laid over each other, early files from their home."""
    chapters = [c for c in registry.chapters if c.number <= number and (c.number > 0 or number == 0)]
    paths: dict[str, Path] = {}
    for chapter in chapters:
        for path in chapter.early:
            paths[path] = registry.home(path).folder("solutions") / path
        for path in chapter.own_files:
            paths[path] = chapter.folder("solutions") / path
    return dict(sorted(paths.items()))


def reference(registry: Registry, number: int) -> dict[str, str]:
    """File -> source of the reference engine at chapter `number`."""
    return {path: source.read_text(encoding="utf-8") for path, source in reference_paths(registry, number).items()}


def todo(exercise: Exercise) -> str:
    return f"TODO {exercise.number}: {exercise.title}"


def snapshot(registry: Registry, chapter: Chapter) -> dict[str, str]:
    """File -> source as the learner gets it: the reference, with this chapter's exercises as skeletons."""
    files = reference(registry, chapter.number)
    todos: dict[str, dict[str, str]] = {}
    for exercise in chapter.exercises:
        for path, names in exercise.targets.items():
            try:
                wanted = skeleton.expand(files[path], names)
            except skeleton.SkeletonError as error:
                raise skeleton.SkeletonError(f"exercise {exercise.number}: {path}: {error}") from None
            for name in wanted:
                if name in todos.setdefault(path, {}):
                    raise skeleton.SkeletonError(
                        f"exercise {exercise.number}: {path}:{name} belongs to another exercise too"
                    )
                todos[path][name] = todo(exercise)
    for path, names in todos.items():
        files[path] = skeleton.stub(files[path], names)
    return files


def read_source(path: Path, shown: str, asked_for: str) -> str:
    """Read a learner's file: UTF-8 with or without BOM, any line ends.

    Raises:
        SourceProblem: missing, a link out of its folder, too large, not UTF-8, NUL bytes or a syntax error.
    """
    restore = f"python judge/run.py {asked_for} --reset brings the skeleton back (your file is kept as a backup)."
    try:
        info = path.lstat()
    except OSError:
        near = sorted(p.name for p in path.parent.glob(f"*{path.stem}*")) if path.parent.is_dir() else []
        lines = (f"In that folder: {', '.join(near)}.",) if near else ()
        raise SourceProblem(
            shown, f"expected the file {shown}, and it is not there", (*lines, restore), "missing-file"
        ) from None
    if stat.S_ISLNK(info.st_mode):
        raise SourceProblem(shown, f"{shown} is a link; the judge reads regular files only", (restore,))
    if not stat.S_ISREG(info.st_mode):
        raise SourceProblem(shown, f"{shown} is not a regular file", (restore,))
    if info.st_size > MAX_SOURCE_BYTES:
        raise SourceProblem(
            shown, f"{shown} has {info.st_size:,} bytes; a source file has at most {MAX_SOURCE_BYTES:,}"
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceProblem(shown, f"{shown} cannot be read: {error.strerror}") from None
    return parse_source(data, shown, asked_for)


def parse_source(data: bytes, shown: str, asked_for: str) -> str:
    """Decode and check the bytes of a learner's file; see `read_source`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SourceProblem(
            shown, f"{shown}:{line} is not UTF-8 (byte 0x{data[error.start]:02x})", ("Save the file as UTF-8.",)
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise SourceProblem(shown, f"{shown}:{line} holds a NUL byte", ("Save the file as plain text in UTF-8.",))
    if not text.strip():
        restore = f"python judge/run.py {asked_for} --reset brings the skeleton back."
        raise SourceProblem(shown, f"{shown} is empty", (restore,))
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")) or line == "=======":
            raise SourceProblem(
                shown,
                f"{shown}:{number} holds a merge marker",
                (line[:60], "^" * min(7, len(line)), "Settle the conflict, then delete the markers."),
            )
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise SourceProblem(shown, *_caret(shown, error)) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise SourceProblem(shown, f"{shown} cannot be parsed: {type(error).__name__}") from None
    return text


def _caret(shown: str, error: SyntaxError) -> tuple[str, tuple[str, ...]]:
    text = (error.text or "").rstrip("\n").replace("\t", "    ")
    column = max((error.offset or 1) - 1, 0)
    if isinstance(error, IndentationError):
        column = len(text) - len(text.lstrip())
    start = max(0, min(column, len(text)) - 60)
    kind = {"IndentationError": "indentation error", "TabError": "tabs and spaces are mixed"}.get(
        type(error).__name__, "syntax error"
    )
    lines = (text[start : start + 76], " " * (min(column, len(text)) - start) + "^") if text.strip() else ()
    return f"{shown}:{error.lineno}: {kind}: {error.msg}", lines


def assemble(
    registry: Registry,
    exercise: Exercise,
    *,
    solution: bool = False,
    overrides: dict[str, bytes] | None = None,
    base: str = "reference",
    laid: int | None = None,
    given: str | None = None,
) -> Assembled:
    """Build the tree on which `exercise` is judged.

    Args:
        solution: judge the reference instead of the learner's files.
        overrides: file -> bytes to judge in place of the learner's file (from `--file`, or a known-wrong solution).
        base: "reference", or "mine": the files below the exercise (see `pieces`) are the learner's own.
        laid: with "mine": only so many of the pieces, from the first.
        given: what to call the overriding file in the report.

    Raises:
        SourceProblem: if a file that the exercise asks for cannot be judged.
    """
    chapter = registry.chapter_of(exercise)
    files = reference(registry, chapter.number)
    tree = Assembled(files, chapter.package)
    if solution:
        tree.judged = {path: chapter.shown(path, "solutions") for path in exercise.targets}
        return tree
    if base == "mine":
        for piece in pieces(registry, exercise)[:laid]:
            _lay(registry, chapter, piece, tree)
    pristine = snapshot(registry, chapter)
    done = False
    for path, names in exercise.targets.items():
        shown = chapter.shown(path)
        if overrides and path in overrides:
            shown = given or shown
            source = parse_source(overrides[path], shown, str(exercise.number))
        else:
            source = read_source(chapter.folder("chapters") / path, shown, str(exercise.number))
        tree.judged[path] = shown
        solution_text = (chapter.folder("solutions") / path).read_text(encoding="utf-8")
        wanted = skeleton.expand(solution_text, names)
        _require_names(source, wanted, shown)
        done = done or not all(skeleton.is_stub(source, name) for name in wanted)
        files[path] = _fill_stubs(source, solution_text, path, chapter, tree, skip=exercise.number)
    tree.attempted = done
    if not overrides:
        tree.ignored = _edited(chapter, pristine, skip=exercise)
    return tree


def hashes(
    registry: Registry,
    exercise: Exercise,
    *,
    solution: bool = False,
    overrides: dict[str, bytes] | None = None,
    base: str = "reference",
    laid: int | None = None,
    given: str | None = None,
) -> dict[str, str | None]:
    """Path shown to the learner -> SHA-256 of the bytes that `assemble` judges with the same arguments; None where there are none to read."""
    chapter = registry.chapter_of(exercise)
    asked = [(chapter, path) for path in exercise.targets]
    if solution:
        return {chapter.shown(path, "solutions"): _digest(chapter.folder("solutions") / path) for _, path in asked}
    below = pieces(registry, exercise)[:laid] if base == "mine" else []
    found = {where.shown(path): _digest(where.folder("chapters") / path) for where, path in below}
    for _, path in asked:
        data = (overrides or {}).get(path)
        if data is None:
            found[chapter.shown(path)] = _digest(chapter.folder("chapters") / path)
        else:
            found[given or chapter.shown(path)] = hashlib.sha256(data).hexdigest()
    return found


def _digest(path: Path) -> str | None:
    """SHA-256 of a regular file that is small enough to be judged."""
    with contextlib.suppress(OSError):
        info = path.lstat()
        if stat.S_ISREG(info.st_mode) and info.st_size <= MAX_SOURCE_BYTES:
            return hashlib.sha256(path.read_bytes()).hexdigest()
    return None


def _require_names(source: str, wanted: tuple[str, ...], shown: str) -> None:
    """Every name that the exercise asks for is there; a renamed one is guessed from what is."""
    for name in wanted:
        if skeleton.binds(source, name):
            continue
        defined = list(skeleton.symbols(source))
        prefix = name.rpartition(".")[0]
        nearby = [other for other in defined if other.rpartition(".")[0] == prefix]
        near = difflib.get_close_matches(name, nearby, 1, 0.5)
        line = (
            f"Did you mean to call your {near[0]} {name}?"
            if near
            else f"It defines {', '.join(nearby[:8]) or 'nothing'}."
        )
        raise SourceProblem(shown, f"expected {name} in {shown}; it is not there", (line,), "missing-name")


def _edited(chapter: Chapter, pristine: dict[str, str], skip: Exercise) -> list[str]:
    """Files that the learner changed although no exercise of the chapter asks for them, and files that were added."""
    asked = {path for ex in chapter.exercises for path in ex.targets}
    folder = chapter.folder("chapters")
    edited = []
    for path, source in pristine.items():
        if path in asked or path in skip.targets:
            continue
        try:
            mine = (folder / path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            mine = None
        if mine is None or mine.replace("\r\n", "\n") != source:
            edited.append(chapter.shown(path))
    if chapter.package and folder.is_dir():
        known = {folder / path for path in pristine}
        edited += [str(p.relative_to(ROOT)) for p in sorted(folder.rglob("*.py")) if p not in known]
    return edited


Piece = tuple[Chapter, str]  # a file of the learner's that can take the reference's place


def pieces(registry: Registry, exercise: Exercise) -> list[Piece]:
    """The files of the learner's below an exercise, in the order of the chapters: of the earlier chapters, and of its siblings."""
    upto = registry.chapter_of(exercise)
    there = reference_paths(registry, upto.number)
    found = []
    for chapter in registry.open_chapters:
        if chapter.number > upto.number or (chapter.number == 0) != (upto.number == 0):
            continue
        asked = dict.fromkeys(path for ex in chapter.exercises for path in ex.targets)
        own = exercise.targets if chapter.number == upto.number else ()
        found += [(chapter, path) for path in asked if path in there and path not in own]
    return found


def _lay(registry: Registry, upto: Chapter, piece: Piece, tree: Assembled) -> None:
    """Put a file of the learner's into the tree; symbols that they have not written stay the reference's."""
    chapter, path = piece
    shown = chapter.shown(path)
    exercises = [ex for ex in chapter.exercises if path in ex.targets]
    source = read_source(chapter.folder("chapters") / path, shown, str(exercises[0].number))
    solution = chapter.folder("solutions") / path
    theirs = solution.read_text(encoding="utf-8")
    wanted = skeleton.expand(theirs, tuple(name for ex in exercises for name in ex.targets[path]))
    _require_names(source, wanted, shown)
    written = [name for name in wanted if not skeleton.is_stub(source, name)]
    if not written:
        return
    tree.base_files.append(shown)
    if reference_paths(registry, upto.number)[path] == solution:  # no later chapter changes the file
        tree.files[path] = _fill_stubs(source, theirs, path, chapter, Assembled({}, ""))
        return
    for name in written:
        if name in skeleton.symbols(source) and skeleton.same(theirs, tree.files[path], name):
            tree.files[path] = skeleton.replace(tree.files[path], name, skeleton.text_of(source, name))
    tree.files[path] = skeleton.overlay(tree.files[path], _additions(source, theirs))


def _additions(source: str, theirs: str) -> str:
    """Imports, constants and helpers of the learner's file that the reference's file does not have."""
    lines = source.splitlines()
    known = set(skeleton.symbols(theirs))
    kept = []
    for node in ast.parse(source).body:
        new_definition = isinstance(node, (*skeleton.FUNCTIONS, ast.ClassDef)) and node.name not in known
        if new_definition or isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            kept.append("\n".join(lines[first - 1 : node.end_lineno]) + "\n")
    return "".join(kept)


def learners_engine(registry: Registry, upto: Chapter) -> Assembled:
    """The engine at chapter `upto` from the learner's own files of all chapters, the reference's where they have written none.

    Raises:
        SourceProblem: if one of their files cannot be read.
    """
    tree = Assembled(reference(registry, upto.number), upto.package)
    for chapter in registry.open_chapters:
        if 0 < chapter.number <= upto.number:
            for path in dict.fromkeys(path for ex in chapter.exercises for path in ex.targets):
                if path in tree.files:
                    _lay(registry, upto, (chapter, path), tree)
    return tree


def learners_chapter(registry: Registry, chapter: Chapter) -> Assembled:
    """The chapter's tree with the learner's files; what is not written yet, or cannot be read, is the reference's."""
    files = reference(registry, chapter.number)
    tree = Assembled(files, chapter.package)
    for exercise in chapter.exercises:
        for path in exercise.targets:
            if path in tree.judged:
                continue
            try:
                source = read_source(chapter.folder("chapters") / path, chapter.shown(path), str(exercise.number))
            except SourceProblem:
                tree.filled.append(f"{exercise.number} all of {path}")
                continue
            tree.judged[path] = chapter.shown(path)
            files[path] = _fill_stubs(source, files[path], path, chapter, tree)
    return tree


def _fill_stubs(
    source: str, reference_source: str, path: str, chapter: Chapter, tree: Assembled, skip: int | None = None
) -> str:
    """Take the symbols that are still skeletons from the reference, except those of exercise `skip`."""
    for exercise in chapter.exercises:
        if exercise.number == skip or path not in exercise.targets:
            continue
        for name in skeleton.expand(reference_source, exercise.targets[path]):
            if skeleton.is_stub(source, name):
                source = skeleton.replace(source, name, skeleton.text_of(reference_source, name))
                tree.filled.append(f"{exercise.number} {name}")
    return source
