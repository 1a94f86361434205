"""Notice that judged files changed: events that say when to look, a hash that says whether anything is new, patience with half a save."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import platform
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from judge.steps import Exercise, Registry
from judge.tree import MAX_SOURCE_BYTES

QUIET_MS = 10  # a burst of events is over when none has come for this long
BURST_MS = 300  # but no burst is longer than this
POLL_MS = 200
LOOK_MS = 1000  # the hash is looked at this often without any event: some shares send none
PATIENCE_SECONDS = 0.3  # how long a file that is missing or is no Python may be on its way
PAUSE_SECONDS = 0.02
REMOTE = {
    "9p", "afpfs", "cifs", "drvfs", "fakeowner", "fuse.grpcfuse", "fuse.osxfs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs", "vboxsf", "virtiofs",
}  # fmt: skip


def watched_files(registry: Registry, exercise: Exercise, base: str) -> list[Path]:
    """The learner's files that a verdict on the exercise depends on."""
    exercises = [exercise]
    if base == "mine":
        exercises = [ex for ex in registry.exercises.values() if ex.chapter < exercise.chapter] + exercises
    return list(dict.fromkeys(registry.chapter_of(ex).folder("chapters") / path for ex in exercises for path in ex.targets))


def fingerprint(files: list[Path]) -> str:
    """A hash of what the files hold; a file that is missing or is none counts too."""
    digest = hashlib.sha256()
    for file in files:
        data = _read(file)
        digest.update(b"none" if data is None else b"%d:" % len(data) + data)
    return digest.hexdigest()


def _read(file: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return None
        with file.open("rb") as stream:
            return stream.read(MAX_SOURCE_BYTES + 1)
    except OSError:
        return None


def _whole(file: Path) -> bool:
    """Whether the file is there and parses: an editor may be half-way through writing it, or just about to rename it."""
    data = _read(file)
    if not data:
        return False
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        ast.parse(data)
        return True
    return False


def settle(files: list[Path], sleep: Callable[[float], None] = time.sleep) -> str:
    """Wait until all files are whole, or have been given up as they are. Returns their fingerprint."""
    for _ in range(round(PATIENCE_SECONDS / PAUSE_SECONDS)):
        if all(_whole(file) for file in files):
            break
        sleep(PAUSE_SECONDS)
    return fingerprint(files)


def polling_reason(folder: Path) -> str | None:
    """Why the system's own notices about files are not to be relied on for `folder`, or None."""
    import psutil

    if os.environ.get("WATCHFILES_FORCE_POLLING", "").lower() not in ("", "false", "disable", "disabled"):
        return "WATCHFILES_FORCE_POLLING is set"
    if "microsoft" in platform.release().lower():
        return "this is WSL"
    with contextlib.suppress(OSError, psutil.Error):
        mounts = {Path(mount.mountpoint): mount.fstype for mount in psutil.disk_partitions(all=True)}
        kind = next((mounts[place] for place in (folder, *folder.parents) if place in mounts), "")
        if kind in REMOTE:
            return f"the files lie on {kind}"
    return None


class Saves:
    """A thread that writes one byte into a pipe when something below `folder` has changed, and after each second without news."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.polling = folder, polling_reason(folder)
        self.pipe, self._end = os.pipe()
        for fd in (self.pipe, self._end):
            os.set_blocking(fd, False)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="saves", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        from watchfiles import watch

        while not self._stop.is_set():
            try:
                for _ in watch(
                    self.folder, watch_filter=None, debounce=BURST_MS, step=QUIET_MS, stop_event=self._stop, rust_timeout=LOOK_MS,
                    yield_on_timeout=True, force_polling=self.polling is not None, poll_delay_ms=POLL_MS,
                ):  # fmt: skip
                    self._tell()
            except (OSError, RuntimeError) as error:  # no notices left (the inotify limit), or the folder is away: poll from now on
                self.polling = self.polling or f"the file watcher failed ({' '.join(str(error).split())[:80]})"
                self._tell()
                self._stop.wait(LOOK_MS / 1000)

    def _tell(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full: then the main thread has enough to wake it
            os.write(self._end, b".")

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self.pipe)
        os.close(self._end)
