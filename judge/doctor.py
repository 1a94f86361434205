"""What is there and what is missing: `make doctor` or `python judge/run.py --doctor`.

Answers in under a second, imports neither torch nor transformers, and works without any package: where rich is missing the table is plain.
Exit code 0 if all that is required is there, else 1.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)

from judge import machine  # noqa: E402

MIN_PYTHON = (3, 11)
MIN_MEMORY, MIN_FREE_MEMORY = 7 << 30, 2 << 30  # a machine of 8 GB shows a little less
MIN_DISK = 1 << 30
MIN_WATCHES = 1000
PATIENCE = 0.6  # seconds for each command that is asked
MARKS = {"ok": "ok", "note": "note", "bad": "MISSING"}
STYLES = {"ok": "green", "note": "yellow", "bad": "bold red"}


@dataclass
class Finding:
    """One row: what was found, what it makes possible, and the mend where it is missing."""

    name: str
    state: str  # "ok", "note" (something optional is missing) or "bad" (something required is)
    found: str
    makes_possible: str
    mend: str = ""


def examine(root: Path = ROOT) -> list[Finding]:
    """Everything that the workbook needs or can use. The two commands run while the rest is looked at."""
    bubblewrap, nvidia = _start(_bubblewrap_command()), _start(_nvidia_command())
    findings = [interpreter(root), *packages(root), cores(), memory(), disk(root), *models(root), inotify()]
    return [*findings, sandbox(bubblewrap), gpu(nvidia)]


def interpreter(root: Path) -> Finding:
    name = f"Python {platform.python_version()}, {sys.executable}"
    use = "everything; 3.11 or newer"
    if sys.version_info < MIN_PYTHON:
        return Finding("interpreter", "bad", name, use, "make setup PYTHON=python3.12")
    if Path(sys.prefix).resolve() != (root / ".venv").resolve():
        there = (root / ".venv").is_dir()
        return Finding("interpreter", "note", f"{name}, not .venv", use, "make doctor looks at .venv" if there else "make setup creates .venv")
    return Finding("interpreter", "ok", name, use)


def packages(root: Path) -> list[Finding]:
    """The packages that pyproject.toml names, by what they are for, and all of requirements.lock by version."""
    try:
        import tomllib

        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lock = dict(re.findall(r"^([\w.-]+)==(\S+)", (root / "requirements.lock").read_text(encoding="utf-8"), re.M))
    except (ImportError, OSError, ValueError, KeyError) as error:
        return [Finding("packages", "bad", f"the lists cannot be read ({error})", "everything", "Python 3.11, pyproject.toml and requirements.lock")]
    extras = project["optional-dependencies"]
    groups = (
        ("packages", project["dependencies"], "bad", "the engine and the judge"),
        ("for notebooks", extras["notebooks"], "note", "make notebook 6"),
        ("for authors", extras["dev"], "note", "make test"),
    )
    found = []
    for name, wanted, state, use in groups:
        names = [re.match(r"[\w.-]+", entry)[0] for entry in wanted]
        missing = [package for package in names if machine.installed(package) is None]
        text = f"missing: {', '.join(missing)}" if missing else f"{len(names)} of {len(names)}"
        found.append(Finding(name, state if missing else "ok", text, use, "make setup" if missing else ""))
    versions = {package: machine.installed(package) for package in lock}
    absent = sum(version is None for version in versions.values())
    # "2.13.0+cpu" is the build of 2.13.0 for the CPU
    other = [f"{p} {v}" for p, v in versions.items() if v is not None and v != lock[p] and v.partition("+")[0] != lock[p]]
    text = f"{len(lock) - absent - len(other)} of {len(lock)} at the version of requirements.lock"
    text += f"; {absent} missing" if absent else ""
    text += f"; others: {', '.join(other[:4])}{' …' if len(other) > 4 else ''}" if other else ""
    mend = f"{sys.executable} -m pip install -r requirements.lock" if absent or other else ""
    found.append(Finding("versions", "note" if mend else "ok", text, "the results that the texts print", mend))
    return found


def cores() -> Finding:
    count = machine.cores()
    use = "2: the judge loads torch while it reads"
    return Finding("cores", "ok", f"{count:g}", use) if count >= 2 else Finding("cores", "note", f"{count:g}", use, "verdicts take longer")


def memory() -> Finding:
    total, free = machine.memory()
    use = "8 GB: every exercise, each limited to 4 GB"
    if not total:
        return Finding("memory", "note", "the system does not say", use)
    found = f"{total / 2**30:.1f} GB, {free / 2**30:.1f} GB free"
    if total < MIN_MEMORY:
        return Finding("memory", "note", found, use, "the tiny models need far less; close other programs")
    return Finding("memory", "ok" if free >= MIN_FREE_MEMORY else "note", found, use, "" if free >= MIN_FREE_MEMORY else "close other programs")


def disk(root: Path) -> Finding:
    """Free space here and where temporary files go: a verdict needs a few MB there, a set-up 4 GB here."""
    places = {"here": root, "for temporary files": Path(tempfile.gettempdir())}
    free = {}
    for name, place in places.items():
        with contextlib.suppress(OSError):
            free[name] = shutil.disk_usage(place).free
    found = ", ".join(f"{size / 2**30:.1f} GB free {name}" for name, size in free.items())
    low = any(size < MIN_DISK for size in free.values())
    return Finding("disk", "note" if low else "ok", found, "models, caches, reports", "free some space: at least 1 GB" if low else "")


def models(root: Path) -> list[Finding]:
    """The checkpoints: small files are hashed, large ones compared by size and time with when they were hashed."""
    try:
        sys.path.insert(0, str(root / "models"))
        import fetch
    except ImportError as error:
        return [Finding("models", "bad", f"models/fetch.py cannot be imported ({error})", "all checks", "restore it from the repository")]
    finally:
        sys.path.remove(str(root / "models"))
    groups = (
        ("tiny models", fetch.TINY, "most checks", "python models/fetch.py tiny   (no network)"),
        ("SmolLM2", (fetch.SMOLLM2,), "gates, examples, notebooks", "python models/fetch.py smollm2"),
    )
    found = []
    for name, checkpoints, use, mend in groups:
        unknown, bad = [], []
        for checkpoint in checkpoints:
            folder = root / "models" / checkpoint
            if not _hashed_before(fetch, folder):
                unknown.append(checkpoint)
            elif (state := fetch.status(folder))[0] != "ok":
                bad.append(f"{checkpoint} is {state[0]}" + (f": {state[1]}" if state[1] else ""))
        if bad:
            found.append(Finding(name, "bad", "; ".join(bad), use, mend))
        elif unknown:
            found.append(Finding(name, "note", f"{', '.join(unknown)}: there, not hashed since it was copied", use, "python models/fetch.py --check"))
        else:
            found.append(Finding(name, "ok", f"{len(checkpoints)} of {len(checkpoints)}, intact", use))
    return found


def _hashed_before(fetch, folder: Path) -> bool:
    """Whether `fetch.status` answers at once: no large file whose size or time differ from when it was last hashed."""
    import json

    try:
        stamp = json.loads((folder / fetch.STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stamp = {}
    for path in folder.glob("*"):
        info = path.stat()
        if info.st_size >= fetch.BIG and stamp.get(path.name) != [info.st_size, info.st_mtime_ns]:
            return False
    return True


def inotify() -> Finding:
    """Whether --watch is told of changes by the system."""
    use = "--watch: a verdict at each save"
    if find_spec("watchfiles") is None:
        return Finding("watching files", "note", "watchfiles is not installed", use, "make setup")
    if sys.platform != "linux":
        return Finding("watching files", "ok", "watchfiles", use)
    try:
        watches = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text())
    except (OSError, ValueError):
        return Finding("watching files", "note", "no inotify here", use, "WATCHFILES_FORCE_POLLING=1 looks at the files instead")
    if watches < MIN_WATCHES:
        return Finding("watching files", "note", f"inotify, {watches} watches only", use, "sudo sysctl fs.inotify.max_user_watches=65536")
    return Finding("watching files", "ok", "watchfiles with inotify", use)


def _bubblewrap_command() -> list[str] | None:
    path = shutil.which("bwrap") if sys.platform == "linux" else None
    return [path, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent", "--", "true"] if path else None


def sandbox(asked: subprocess.Popen | None) -> Finding:
    use = "a sandbox without files and network; else Python's own guards"
    if sys.platform != "linux":
        return Finding("bubblewrap", "ok", "only for Linux; the sandbox 'process' is used", use)
    if asked is None:
        return Finding("bubblewrap", "note", "not installed; the sandbox 'process' is used", use, "Debian and Ubuntu: apt install bubblewrap")
    code, text = _answer(asked)
    if code == 0:
        return Finding("bubblewrap", "ok", "works", use)
    reason = text.strip().splitlines()[-1][:80] if text.strip() else "it did not answer"
    mend = "allow user namespaces, for example: sysctl kernel.unprivileged_userns_clone=1"
    return Finding("bubblewrap", "note", f"may not be used: {reason}", use, mend)


def _nvidia_command() -> list[str] | None:
    path = shutil.which("nvidia-smi")
    return [path, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"] if path else None


def gpu(asked: subprocess.Popen | None) -> Finding:
    use = "optional: CUDA Graph and kernels at full speed"
    code, text = _answer(asked) if asked else (1, "")
    lines = text.strip().splitlines()
    if code == 0 and lines:
        return Finding("GPU", "ok", "; ".join(lines[:4]), use)
    drivers = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    names = [match[1].strip() for file in drivers if (match := re.search(r"Model:(.*)", file.read_text(errors="replace")))]
    if names:
        return Finding("GPU", "ok", "; ".join(names), use)
    if asked:
        return Finding("GPU", "note", "nvidia-smi is there and names none", use, "nvidia-smi says why")
    return Finding("GPU", "ok", "none: everything runs on the CPU", use)


def _start(command: list[str] | None) -> subprocess.Popen | None:
    if command is None:
        return None
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        return subprocess.Popen(command, text=True, errors="replace", **pipes)
    except OSError:
        return None


def _answer(process: subprocess.Popen) -> tuple[int, str]:
    try:
        text, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, text
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return 1, ""


def show(findings: list[Finding]) -> None:
    """The table, with rich where it is installed."""
    try:
        from rich.table import Table
        from rich.text import Text

        from judge.report import make_console
    except ImportError:
        for f in findings:
            print(f"{MARKS[f.state]:<8} {f.name}: {f.found}" + (f"\n         {f.makes_possible}\n         mend: {f.mend}" if f.mend else ""))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("", "what", "found", "makes possible", "mend"):
        table.add_column(column, overflow="fold")
    for f in findings:
        state, name = Text(MARKS[f.state], STYLES[f.state]), Text(f.name, "bold")
        table.add_row(state, name, Text(f.found), Text(f.makes_possible, "dim"), Text(f.mend, "yellow"))
    console = make_console()
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        console.width = 160
    console.print(table)


def main() -> int:
    findings = examine()
    show(findings)
    bad = [f for f in findings if f.state == "bad"]
    notes = sum(f.state == "note" for f in findings)
    optional = f" ({notes} {'note' if notes == 1 else 'notes'} above)" if notes else ""
    if bad:
        print(f"\nmissing: {', '.join(f.name for f in bad)}{optional}\nnext: {bad[0].mend}")
        return 1
    print(f"\nall that is required is there{optional}\nnext: python judge/run.py next")
    return 0


if __name__ == "__main__":
    sys.exit(main())
