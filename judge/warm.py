"""A warm interpreter with torch behind a socket. This module stays light, so that the child can be started first thing."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from judge import wire

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
START_SECONDS = 180.0


class JudgeError(Exception):
    """The judge itself failed: never the learner's fault, never a pass."""


def scrubbed_environment(home: Path, threads: int) -> dict[str, str]:
    """The child's whole environment: fixed threads, hash seed and encoding, no hub, no user site."""
    keep = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    kept = {name: os.environ[name] for name in keep if name in os.environ}
    count = str(threads)
    return kept | {
        "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1",
        "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count,
        "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HOME": str(home / "hf"), "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_VERBOSITY": "error", "LOG_LEVEL": "WARNING",
    }  # fmt: skip


def bubblewrap() -> str | None:
    """Path of bubblewrap, or None where it is not installed."""
    return shutil.which("bwrap") if sys.platform == "linux" else None


def _wrap(command: list[str], folder: Path) -> list[str]:
    """The command inside bubblewrap: a read-only system without network, the workbook, the home and /tmp of this machine.

    Of the workbook only the environment and the models are there; `folder` is the child's own, its scratch is writable.
    """
    hidden = dict.fromkeys(str(path) for path in (Path(tempfile.gettempdir()), Path.home(), ROOT) if path.is_dir() and path != Path("/"))
    kept = [Path(sys.prefix), Path(sys.base_prefix), ROOT / "models"]
    arguments = [bubblewrap() or "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in hidden:
        arguments += ["--tmpfs", path]
    for path in kept:
        if path.exists():
            arguments += ["--ro-bind", str(path.resolve()), str(path)]
    arguments += ["--ro-bind", str(folder), str(folder), "--bind", str(folder / "scratch"), str(folder / "scratch")]
    arguments += ["--unshare-all", "--die-with-parent", "--new-session", "--chdir", str(folder / "scratch"), "--"]
    return arguments + command


class Child:
    """A warm interpreter with torch, behind a socket. Used by the sandbox and by the oracle."""

    def __init__(self, kind: str, threads: int = 1, sandbox: str = "auto") -> None:
        """Start it; `wait_ready` waits until torch is there.

        Args:
            kind: "sandbox" or "oracle".
            sandbox: "bwrap", "process", or "auto": bubblewrap where it is installed and works. The oracle is never wrapped.
        """
        self.kind, self.threads, self.wanted = kind, threads, sandbox
        self.folder = Path(tempfile.mkdtemp(prefix="judge-")).resolve()
        self.scratch, self.trees = self.folder / "scratch", self.folder / "trees"
        for folder in (self.folder / "harness", self.scratch, self.trees):
            folder.mkdir()
        for name in ("child.py", "wire.py"):
            shutil.copyfile(HERE / name, self.folder / "harness" / name)
        self.log = open(self.folder / "log", "w+b")  # noqa: SIM115
        self.ready = False
        wrapped = kind == "sandbox" and sandbox != "process"
        if sandbox == "bwrap" and bubblewrap() is None:
            self.log.close()
            raise JudgeError("bubblewrap is not installed; on Debian and Ubuntu: apt install bubblewrap")
        self._start("bwrap" if wrapped and bubblewrap() else "process")

    def _start(self, sandbox: str) -> None:
        self.sandbox = sandbox
        ours, theirs = socket.socketpair()
        number = str(theirs.fileno())
        command = [sys.executable, "-I", "-X", "utf8", str(self.folder / "harness" / "child.py"), number, self.kind]
        self.process = subprocess.Popen(
            _wrap(command, self.folder) if sandbox == "bwrap" else command,
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=scrubbed_environment(self.scratch, self.threads), cwd=self.scratch,
        )  # fmt: skip
        theirs.close()
        self.socket = ours
        self.socket.settimeout(START_SECONDS)

    def wait_ready(self) -> None:
        if self.ready:
            return
        try:
            self.receive()
        except JudgeError:
            if self.sandbox != "bwrap" or self.wanted != "auto":
                raise
            self.socket.close()  # bubblewrap is there but may not be used here (no user namespaces)
            self.process.wait()
            self._start("process")
            self.receive()
        self.ready = True

    def send(self, head: dict, arrays: dict | None = None) -> None:
        try:
            self.socket.sendall(wire.frame(head, arrays or {}))
        except OSError as error:
            raise JudgeError(f"the judge's child is gone ({error}). {self.last_words()}") from None

    def receive(self) -> tuple[dict, dict]:
        try:
            return wire.read_frame(self.socket.recv)
        except (EOFError, OSError):
            raise JudgeError(f"the judge's child ended unexpectedly. {self.last_words()}") from None
        except wire.WireError as error:
            raise JudgeError(f"the judge's child sent {error}") from None

    def last_words(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            self.log.flush()
            self.log.seek(0)
            lines = self.log.read().decode("utf-8", "replace").strip().splitlines()
            return f"Its last words: {lines[-1][:300]}" if lines else ""
        return ""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None and self.socket.fileno() >= 0

    def close(self) -> None:
        """End the child and remove its folder. Safe to call twice."""
        if self.log.closed:
            return
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
