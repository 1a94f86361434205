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
        "TRANSFORMERS_VERBOSITY": "error",
    }  # fmt: skip


class Child:
    """A warm interpreter with torch, behind a socket. Used by the sandbox and by the oracle."""

    def __init__(self, kind: str, threads: int = 1) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="judge-")).resolve()
        harness, self.scratch = self.folder / "harness", self.folder / "scratch"
        harness.mkdir()
        self.scratch.mkdir()
        for name in ("child.py", "wire.py"):
            shutil.copyfile(HERE / name, harness / name)
        ours, theirs = socket.socketpair()
        self.log = open(self.folder / "log", "w+b")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(harness / "child.py"), str(theirs.fileno()), kind],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=scrubbed_environment(self.scratch, threads), cwd=self.scratch,
        )  # fmt: skip
        theirs.close()
        self.socket = ours
        self.socket.settimeout(START_SECONDS)
        self.ready = False

    def wait_ready(self) -> None:
        if not self.ready:
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
