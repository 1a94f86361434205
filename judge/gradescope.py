"""An autograder for Gradescope: `make gradescope` writes build/gradescope.zip; in Gradescope's container the same module grades.

    python judge/gradescope.py                          a bundle for all exercises, 10 points each
    python judge/gradescope.py 6 180 --points 5         for chapter 6 and exercise 180
    python judge/gradescope.py 6 --partial              a failed exercise gets the share of its checks that passed

The bundle needs nothing but a network while Gradescope builds its image (setup.sh). `--grade` is what its run_autograder calls.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from judge import tree as trees  # noqa: E402
from judge.formats import output_problem, regrade, write  # noqa: E402
from judge.run import resolve  # noqa: E402
from judge.steps import Exercise, Registry, load  # noqa: E402

BUNDLED = ("judge/*.py", "judge/report.schema.json", "judge/hidden/**/*", "judge/wrong/**/*", "solutions/**/*", "models/*.py", "models/hashes.json")
SINGLE = ("steps.toml", "requirements.lock", "pyproject.toml")
CONFIG = "gradescope.json"
DATE = (2020, 1, 1, 0, 0, 0)  # the same input gives the same bytes

SETUP_SH = """\
#!/usr/bin/env bash
# Run once while Gradescope builds the image: as root, with a network. Choose a base image with Python 3.11 or newer (Ubuntu 24.04).
set -euo pipefail
cd "${AUTOGRADER_ROOT:-/autograder}/source"
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv bubblewrap
# With PIP_EXTRA_INDEX_URL set to PyTorch's index of CPU builds (export it here), the image is smaller by gigabytes.
python3 judge/setup.py
.venv/bin/python models/fetch.py
# The reference must pass here before a submission is graded; this also fills the oracle's cache.
.venv/bin/python judge/gradescope.py --verify
"""

RUN_AUTOGRADER = """\
#!/usr/bin/env bash
# Run for each submission. AUTOGRADER_ROOT and AUTOGRADER_PYTHON are for trying it out elsewhere.
source="${AUTOGRADER_ROOT:-/autograder}/source"
exec "${AUTOGRADER_PYTHON:-$source/.venv/bin/python}" "$source/judge/gradescope.py" --grade
"""


# --- the bundle -----------------------------------------------------------------------------------------------------


def bundle(registry: Registry, exercises: list[Exercise], points: float, partial: bool) -> dict[str, bytes]:
    """Path in the bundle -> content. The chapters are the skeletons as `make build` makes them, whatever is written in them here."""
    files = {name: (ROOT / name).read_bytes() for name in SINGLE}
    for pattern in BUNDLED:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    for chapter in registry.open_chapters:
        for path, source in trees.snapshot(registry, chapter).items():
            files[chapter.shown(path)] = source.encode()
    config = {"points": {str(exercise.number): points for exercise in exercises}, "partial": partial}
    files[CONFIG] = (json.dumps(config, indent=2) + "\n").encode()
    files["setup.sh"], files["run_autograder"] = SETUP_SH.encode(), RUN_AUTOGRADER.encode()
    return files


def pack(files: dict[str, bytes], output: Path) -> None:
    """Write the zip, the two scripts executable."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if name in ("setup.sh", "run_autograder") else 0o644)) << 16
            archive.writestr(entry, content)


# --- grading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """A file that the exercises ask for."""

    slug: str
    package: str
    path: str  # in the engine's tree: "engine/sample.py"

    @property
    def shown(self) -> str:
        return "/".join(part for part in ("chapters", self.slug, self.package, self.path) if part)


class Submission:
    """A student's files. They may be the whole repository, the chapters alone, or single files."""

    def __init__(self, folder: Path, wanted: list[Wanted], slugs: set[str]) -> None:
        self.wanted, self.slugs = wanted, slugs
        folder = _inner(folder)
        self.files: dict[str, Path] = {}
        for parent, folders, names in os.walk(folder):  # links to folders are not followed
            folders[:] = sorted(name for name in folders if not _noise(name))
            self.files |= {(Path(parent) / name).relative_to(folder).as_posix(): Path(parent) / name for name in sorted(names) if not _noise(name)}

    def find(self, wanted: Wanted) -> Path:
        """The submitted file: by its path below `chapters/`, else by its path in the engine, else by its name at the top.

        Raises:
            ValueError: it is not there, or two files could be it; the text is for the student.
        """
        names = [self._inside(wanted.shown), self._inside(wanted.shown.removeprefix("chapters/"))]
        if sum(other.path == wanted.path for other in self.wanted) == 1:
            names.append([name for name in self._inside(wanted.path) if self._may_be(name, wanted)])
        base = wanted.path.rpartition("/")[2]
        if sum(other.path.rpartition("/")[2] == base for other in self.wanted) == 1:
            names.append([base] if base in self.files else [])
        for found in names:
            if len(found) > 1:
                raise ValueError(f"two files could be {wanted.shown}: {', '.join(found[:4])}")
            if found:
                return self.files[found[0]]
        raise ValueError(f"{wanted.shown} is not in the submission")

    def _inside(self, suffix: str) -> list[str]:
        return [name for name in self.files if name == suffix or name.endswith("/" + suffix)]

    def _may_be(self, name: str, wanted: Wanted) -> bool:
        """Whether a file is found by its path in the engine: it does not lie in another chapter or in another folder of the engine."""
        folders = name.removesuffix(wanted.path).rstrip("/").split("/")
        return not (set(folders) & (self.slugs - {wanted.slug})) and folders[-1] in ("", wanted.package, wanted.slug)


def _noise(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")


def _inner(folder: Path) -> Path:
    """The folder that holds the files, where a zip has put one around everything."""
    while True:
        entries = [entry for entry in folder.iterdir() if not _noise(entry.name)] if folder.is_dir() else []
        if len(entries) != 1 or not entries[0].is_dir() or entries[0].is_symlink() or entries[0].name == "chapters":
            return folder
        folder = entries[0]


def take(registry: Registry, exercises: list[Exercise], folder: Path) -> dict[int, str]:
    """Put the submitted files in place of the skeletons. Returns, by exercise, why it cannot be graded."""
    asked = dict.fromkeys((ex.chapter, path) for ex in exercises for path in ex.targets)
    wanted = {key: Wanted((chapter := registry.by_number[key[0]]).slug, chapter.package, key[1]) for key in asked}
    submission = Submission(folder, list(wanted.values()), {chapter.slug for chapter in registry.chapters})
    problems: dict[tuple[int, str], str] = {}
    for key, file in wanted.items():
        place = ROOT / file.shown
        place.unlink(missing_ok=True)  # what is missing must not be judged as an untouched skeleton
        try:
            content = _read(submission.find(file), file.shown)
        except (ValueError, OSError) as error:
            problems[key] = str(error)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return {ex.number: problems[ex.chapter, path] for ex in exercises for path in reversed(ex.targets) if (ex.chapter, path) in problems}


def _read(path: Path, shown: str) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError(f"{shown} is not a regular file in the submission")
    with open(path, "rb") as file:
        return file.read(trees.MAX_SOURCE_BYTES + 1)  # one byte more than the judge takes, so that it says so


def grade(root: Path) -> int:
    """Grade root/submission and write root/results/results.json. Whatever happens, each exercise gets a row."""
    results = root / "results" / "results.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    config = json.loads((ROOT / CONFIG).read_text(encoding="utf-8"))
    points = {int(number): value for number, value in config["points"].items()}
    registry = load()
    exercises = [registry.exercises[number] for number in points]
    problems = take(registry, exercises, root / "submission")
    results.unlink(missing_ok=True)
    done = _judge([str(number) for number in points], "--format", "gradescope", "--output", str(results))
    try:
        report = json.loads(results.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        report = _failed(exercises, f"could not grade: the autograder failed (exit code {done})")
    for row in report["tests"]:
        if int(row["number"]) in problems:
            row["output"] = f"could not grade: {problems[int(row['number'])]}"
    write(results, (json.dumps(regrade(report, points.__getitem__, config["partial"]), indent=2, ensure_ascii=True) + "\n").encode())
    return 0


def _judge(numbers: list[str], *options: str) -> int:
    command = [sys.executable, str(ROOT / "judge" / "run.py"), *numbers, *options]
    stdout = subprocess.DEVNULL if "gradescope" in options else None  # the report is in the file; the text goes to stderr
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stdout, check=False).returncode


def _failed(exercises: list[Exercise], output: str) -> dict:
    rows = [
        {
            "number": str(ex.number), "name": f"{ex.number} {ex.title}", "status": "failed", "visibility": "visible", "output": output,
            "output_format": "text", "extra_data": {"status": "not judged", "checks_passed": 0, "checks": 0},
        }
        for ex in exercises
    ]  # fmt: skip
    return {"output": output, "output_format": "text", "visibility": "visible", "stdout_visibility": "hidden", "tests": rows}


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="python judge/gradescope.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("targets", nargs="*", metavar="TARGET", help="exercises (190), chapters (6), or all (the default)")
    p.add_argument("--points", type=float, default=10.0, help="for each exercise (default 10)")
    p.add_argument("--partial", action="store_true", help="points for the share of the checks that passed")
    p.add_argument("--output", metavar="FILE", help="default: build/gradescope.zip")
    p.add_argument("--grade", action="store_true", help="in the container: grade the submission")
    p.add_argument("--verify", action="store_true", help="in the container: does the reference pass?")
    options = p.parse_args(argv)
    if options.grade:
        return grade(Path(os.environ.get("AUTOGRADER_ROOT", "/autograder")))
    if options.verify:
        return _judge(list(json.loads((ROOT / CONFIG).read_text(encoding="utf-8"))["points"]), "--solution")
    registry = load()
    try:
        exercises = resolve(registry, options.targets or ["all"])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    output = Path(options.output or ROOT / "build" / "gradescope.zip")
    if not options.output:
        output.parent.mkdir(exist_ok=True)
    if problem := output_problem(str(output)):
        print(problem, file=sys.stderr)
        return 2
    files = bundle(registry, exercises, options.points, options.partial)
    pack(files, output)
    print(f"{output}: {len(files)} files, {output.stat().st_size / 1e6:.1f} MB, {len(exercises)} exercises of {options.points:g} points")
    print("Upload it under Configure Autograder; choose a base image with Python 3.11 or newer, and 2 CPUs with 3 GB or more.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
