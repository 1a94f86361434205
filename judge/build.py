"""The author's command: writes what is generated (snapshots, listings, notebooks, the list of checks) and checks the sources.

python judge/build.py            write what changed
python judge/build.py --check    write nothing; fail with the command that mends
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from judge import runner, skeleton  # noqa: E402
from judge import tree as trees  # noqa: E402
from judge.steps import Registry, load  # noqa: E402


class BuildError(Exception):
    """A source is wrong in a way that only its author can mend. The text names the file and the mend."""


def check_files(registry: Registry) -> None:
    """Every file that steps.toml names exists in the right solution folder, and no other does."""
    for chapter in registry.chapters:
        folder = chapter.folder("solutions")
        there = {str(p.relative_to(folder)) for p in folder.rglob("*.py")} if folder.is_dir() else set()
        declared = set(chapter.own_files)
        for path in sorted(declared - there):
            raise BuildError(
                f"solutions/{chapter.slug}/{chapter.package}: {path} is declared in steps.toml, but it is not there"
            )
        for path in sorted(there - declared):
            raise BuildError(
                f"solutions/{chapter.slug}/{chapter.package}/{path}: not declared; add it to `new` or `modified` of chapter {chapter.number}"
            )


def check_drift(registry: Registry) -> None:
    """A modified file differs from its earlier version in the symbols that `changes` names, and nowhere else."""
    for chapter in registry.chapters:
        before = trees.reference(registry, chapter.number - 1) if chapter.modified else {}
        for path in chapter.modified:
            changed = {entry.split(":")[1] for entry in chapter.changes if entry.split(":")[0] == path}
            after = (chapter.folder("solutions") / path).read_text(encoding="utf-8")
            drifted = skeleton.drift(before[path], after, changed)
            if drifted:
                raise BuildError(
                    f"solutions/{chapter.slug}/…/{path}: {', '.join(drifted)} differs from the version before chapter {chapter.number}. "
                    f"Make both equal, or name it in `changes` as '{path}:{drifted[0]}'."
                )


def snapshots(registry: Registry) -> dict[Path, str]:
    """File -> content of everything below chapters/*/ that is generated."""
    files: dict[Path, str] = {}
    for chapter in registry.open_chapters:
        try:
            for path, source in trees.snapshot(registry, chapter).items():
                files[chapter.folder("chapters") / path] = source
        except (skeleton.SkeletonError, SyntaxError) as error:
            raise BuildError(f"chapter {chapter.number}: {error}") from None
    return files


def stray(registry: Registry, files: dict[Path, str]) -> list[Path]:
    """Python files in the snapshots' folders that nothing generates."""
    return [
        p for c in registry.open_chapters if c.package for p in sorted(c.folder("chapters").rglob("*.py")) if p not in files
    ]  # fmt: skip


def check_hidden(file: Path) -> None:
    """No test of a hidden file is empty, has no sentence to show, or hides another one of the same name."""
    seen: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        where = f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        if node.name in seen:
            raise BuildError(f"{where}: a second test of this name hides the first; rename it")
        seen.add(node.name)
        if ast.get_docstring(node) is None:
            raise BuildError(f"{where}: no docstring; its first line is what the learner reads")
        if not any(isinstance(part, (ast.Call, ast.Assert, ast.Raise)) for statement in node.body[1:] for part in ast.walk(statement)):
            raise BuildError(f"{where}: checks nothing; compare something with `expect`")


class _Collected:
    """A pytest plugin that notes which tests a file holds."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.errors: list[str] = []

    def pytest_collection_modifyitems(self, items: list) -> None:
        for item in items:
            self.names.setdefault(str(item.path), []).append(item.name)

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            self.errors.append(str(report.longrepr)[-600:])


def manifest(registry: Registry, partial: bool = False) -> str:
    """The ids of all checks of all exercises, as JSON: what a verdict must account for."""
    import contextlib
    import io

    import pytest

    files = {}
    for number, exercise in registry.exercises.items():
        try:
            files[number] = runner.hidden_file(exercise)
            check_hidden(files[number])
        except runner.JudgeError:
            if not partial:
                raise
    collected = _Collected()
    arguments = [
        "-c",
        "/dev/null",
        "--rootdir",
        str(runner.HIDDEN),
        "--noconftest",
        "--import-mode=importlib",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*arguments, *map(str, files.values())], plugins=[collected])
    if collected.errors:
        raise BuildError(f"a hidden test file cannot be collected: {collected.errors[0]}")
    table = {}
    for number, file in files.items():
        ids = collected.names.get(str(file), [])
        defined = runner.titles(file.read_text(encoding="utf-8"))
        missing = set(defined) - {i.split("[")[0] for i in ids}
        if missing or len(ids) < 4:
            raise BuildError(
                f"{file.name}: {len(ids)} checks collected ({', '.join(missing) or 'none'} missing); an exercise needs at least 4"
            )
        table[str(number)] = ids
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def write(files: dict[Path, str], check: bool) -> list[Path]:
    """Write the files whose content differs; with `check`, only tell which those are."""
    changed = []
    for path, text in files.items():
        try:
            if path.read_text(encoding="utf-8") == text:
                continue
        except OSError:
            pass
        changed.append(path)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return changed


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="python judge/build.py", description=__doc__.splitlines()[0])
    p.add_argument("--check", action="store_true", help="write nothing; fail if anything would change")
    p.add_argument("--partial", action="store_true", help="pass over texts and hidden tests that are not written yet")
    p.add_argument("--no-notebooks", action="store_true", help="leave the notebooks alone (they take a minute)")
    options = p.parse_args(argv)
    from judge import notebooks, pictures

    try:
        registry = load()
        check_files(registry)
        check_drift(registry)
        chapters = [c for c in registry.open_chapters if notebooks.text_path(c).is_file() or not options.partial]
        generated = snapshots(registry)  # first: it says what is wrong in steps.toml
        texts = {notebooks.text_path(c): notebooks.filled_text(registry, c) for c in chapters}
        files = generated | {runner.MANIFEST: manifest(registry, options.partial)} | texts
        strays = stray(registry, files)
        changed = write(files, options.check)
        if not options.check:
            for path in strays:
                path.unlink()
        changed += strays
        if not options.no_notebooks:
            changed += pictures.build(registry, options.check)
            changed += notebooks.build(registry, chapters, options.check)
    except (BuildError, notebooks.TextError, Exception) as error:
        if (
            not isinstance(error, (BuildError, notebooks.TextError, runner.JudgeError))
            and "StepsError" not in type(error).__name__
        ):
            raise
        print(f"build: {error}", file=sys.stderr)
        return 1
    for path in changed:
        print(f"{'out of date' if options.check else 'written'}: {path.relative_to(ROOT)}")
    if options.check and changed:
        print("mend with: make build", file=sys.stderr)
        return 1
    print("build: everything is up to date" if not changed else f"build: {len(changed)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
