"""What the Makefile calls before there is an environment: create .venv, install the lock, open a notebook, run the tests. Standard library only."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / ".installed"


def install() -> int:
    """Create .venv and install requirements.lock. Safe to repeat after an interruption."""
    lock = ROOT / "requirements.lock"
    if not PYTHON.is_file():
        print("setup 1/2: creating .venv", flush=True)
        try:
            venv.create(VENV, with_pip=True, clear=VENV.exists())
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"cannot create .venv: {error}. On Debian and Ubuntu: apt install python3-venv", file=sys.stderr)
            return 1
    print("setup 2/2: installing the packages of requirements.lock (1.5 GB on disk, once)", flush=True)
    quiet = [] if sys.stdout.isatty() else ["--progress-bar", "off"]
    done = subprocess.run(
        [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", *quiet, "-r", lock],
        check=False,
        stdout=None if sys.stdout.isatty() else subprocess.DEVNULL,
    )
    if done.returncode:
        print(
            "the installation failed; what was fetched is kept. Mend the cause above, then: make setup", file=sys.stderr
        )
        return 1
    STAMP.touch()
    return 0


def notebook(number: int) -> int:
    """Open a chapter's notebook in JupyterLab."""
    found = sorted((ROOT / "notebooks").glob(f"{number:02d}_*.ipynb"))
    if not found:
        there = ", ".join(str(int(path.name[:2])) for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")))
        print(f"there is no notebook for chapter {number}; there is one for: {there or 'none (make build writes them)'}", file=sys.stderr)
        return 2
    # The module, not the command `jupyter`, which would look for `jupyter-lab` on PATH. Kernels of .venv go before the user's own.
    command = [PYTHON, "-m", "jupyterlab", found[0], *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"JUPYTER_PREFER_ENV_PATH": "1"}, check=False).returncode


STEPS = (
    ("ruff", ["-m", "ruff", "check", "."]),
    ("ruff format", ["-m", "ruff", "check", "solutions", "--select", "E,F,W,I"]),
    ("generated files", ["judge/build.py", "--check"]),
    ("claims about all exercises", ["judge/check.py"]),
    ("the judge's own tests", ["-m", "pytest", "-n", "2"]),
)


def test() -> int:
    """Everything that must hold before a change lands. Every step runs; the last line says whether all passed."""
    failed = []
    for name, command in STEPS:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        if subprocess.run([PYTHON, *command], cwd=ROOT, check=False).returncode:
            failed.append(name)
        print(f"== {name}: {'FAILED' if name in failed else 'ok'} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"make test: FAILED: {', '.join(failed)}" if failed else "make test: passed")
    return 1 if failed else 0


def main() -> int:
    p = argparse.ArgumentParser(prog="python judge/setup.py", description=__doc__)
    p.add_argument("--notebook", type=int, metavar="N", help="open chapter N's notebook")
    p.add_argument("--test", action="store_true", help="run all tests")
    options = p.parse_args()
    if options.notebook is not None:
        return notebook(options.notebook)
    return test() if options.test else install()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted; run it again to go on", file=sys.stderr)
        sys.exit(130)
