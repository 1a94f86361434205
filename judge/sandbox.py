"""Start, watch, limit and kill the child that runs the learner's code."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import secrets
import selectors
import shutil
import signal
import socket
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from judge import wire
from judge.steps import ROOT
from judge.warm import Child, JudgeError

MEMORY_LIMIT = 4 << 30  # bytes of RSS of the whole process tree of a probe
OUTPUT_KEPT = 64 << 10
OUTPUT_LIMIT = 16 << 20
PROCESS_LIMIT = 64
POLL_SECONDS = 0.05
GRACE_SECONDS = 2.0


class ProbeFailed(Exception):
    """A probe gave no evidence. `status` is one of the verdict's statuses; `data` says what happened."""

    def __init__(self, status: str, kind: str, headline: str, data: dict | None = None) -> None:
        super().__init__(headline)
        self.status, self.kind, self.headline, self.data = status, kind, headline, data or {}


class Cancelled(KeyboardInterrupt):
    """The verdict is no longer wanted. Like Ctrl-C it ends the whole test run, but the sandbox lives on."""


class Evidence(np.ndarray):
    """A tensor that a probe returned: a numpy array that remembers its torch dtype (bfloat16 is widened to float32)."""

    torch_dtype: str = ""

    def __array_finalize__(self, other: Any) -> None:
        self.torch_dtype = getattr(other, "torch_dtype", "")


def decode_arrays(entries: dict[str, dict]) -> dict[str, Evidence]:
    """Raw safetensors entries as numpy arrays."""
    decoded = {}
    for name, entry in entries.items():
        code = entry["dtype"]
        flat = np.frombuffer(entry["data"], dtype=wire.NUMPY_DTYPES[code])
        if code == "BF16":
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        array = flat.reshape(entry["shape"]).copy().view(Evidence)
        array.torch_dtype = wire.TORCH_NAMES[code]
        decoded[name] = array
    return decoded


def encode_array(item: Any) -> dict | None:
    """A numpy array of the judge as a safetensors entry."""
    if not isinstance(item, (np.ndarray, np.generic)):
        return None
    array = np.ascontiguousarray(item)
    code = wire.CODES.get(str(array.dtype))
    return None if code is None else {"dtype": code, "shape": list(np.shape(item)), "data": array.tobytes()}


def probe_source(probe: Callable) -> str:
    """The dedented source of a probe: the only thing of a hidden test that reaches the child."""
    return textwrap.dedent(inspect.getsource(probe))


@dataclass
class ProbeLimits:
    seconds: float = 20.0
    memory: int = MEMORY_LIMIT
    output: int = OUTPUT_LIMIT
    processes: int = PROCESS_LIMIT


@dataclass
class _Watch:
    """What one probe has sent so far."""

    answer: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    stacks: bytearray = field(default_factory=bytearray)
    printed: int = 0
    stopped: tuple[str, str, str] | None = None  # status, kind, headline
    cancelled: bool = False


class Sandbox:
    """Runs probes on a tree, each in a fresh fork of a warm child, within limits."""

    def __init__(self, child: Child, cancelled: Callable[[], bool] | None = None) -> None:
        """`cancelled` is asked before each probe and about every 50 ms while one runs."""
        self.child, self.cancelled = child, cancelled or (lambda: False)
        self.own: set[int] = set()
        self.output = bytearray()
        self.waited = 0.0  # seconds spent in waiting for the child to import torch

    def revive(self) -> None:
        """Start a new child where the learner's code has ended the last one."""
        if not self.child.alive:
            self.child.close()
            self.child, self.own = Child("sandbox", self.child.threads, self.child.wanted), set()

    def close(self) -> None:
        if self.child.alive:
            self.kill_strays()
        self.child.close()

    def run(self, probe: Callable, tree: Path, limits: ProbeLimits, seed: int, inputs: dict[str, Any]) -> Any:
        """Run `probe(**inputs)` next to the learner's code in `tree`, and return its evidence.

        Raises:
            ProbeFailed: the learner's code raised, ended early, or went over a limit.
            JudgeError: the judge's own parts failed.
            Cancelled: if `cancelled` said so; the probe's processes are ended.
        """
        if self.cancelled():
            raise Cancelled
        self.revive()
        start = time.monotonic()
        self.child.wait_ready()
        self.waited += time.monotonic() - start
        if not self.own:
            self.own = {self.child.process.pid, *(p.pid for p in self._descendants())}
        arrays: dict[str, dict] = {}
        nonce = secrets.token_hex(16)
        scratch = self.child.scratch / nonce
        scratch.mkdir()
        head = {
            "op": "probe", "nonce": nonce, "source": probe_source(probe), "name": probe.__name__, "seed": seed,
            "inputs": wire.pack(inputs, arrays, encode_array), "tree": str(tree), "scratch": str(scratch),
            "fence": str(ROOT), "readable": [str(ROOT / "models"), str(ROOT / ".venv"), str(tree)],
        }  # fmt: skip
        pipes = [os.pipe() for _ in range(3)]
        try:
            self.child.send(head, arrays)
            socket.send_fds(self.child.socket, [b"f"], [write for _, write in pipes])
            for _, write in pipes:
                os.close(write)
            pid = self.child.receive()[0]["pid"]
            watch = self._watch(pid, [read for read, _ in pipes], limits)
        finally:
            for read, _ in pipes:
                os.close(read)
        status = self._reap(pid)
        shutil.rmtree(scratch, ignore_errors=True)
        if watch.cancelled:
            raise Cancelled
        self.output = watch.output
        return self._outcome(watch, nonce, status, limits)

    def _watch(self, pid: int, reads: list[int], limits: ProbeLimits) -> _Watch:
        """Read the pipes until the answer is complete, the process is gone or a limit is passed."""
        watch = _Watch()
        answer, output, stacks = reads
        selector = selectors.DefaultSelector()
        for read in reads:
            os.set_blocking(read, False)
            selector.register(read, selectors.EVENT_READ)
        deadline = time.monotonic() + limits.seconds
        next_poll = time.monotonic() + POLL_SECONDS
        open_answer = True
        while open_answer and watch.stopped is None and not watch.cancelled:
            for key, _ in selector.select(min(POLL_SECONDS, max(0.001, deadline - time.monotonic()))):
                data = self._read(key.fd)
                if not data:
                    selector.unregister(key.fd)
                    open_answer = open_answer and key.fd != answer
                elif key.fd == answer:
                    watch.answer += data
                    open_answer = not _complete(watch.answer)
                elif key.fd == output:
                    self._take_output(watch, data, limits)
                else:
                    watch.stacks += data[:100_000]
            now = time.monotonic()
            if now > deadline and open_answer:
                watch.stopped = ("timeout", "timeout", f"still running after {limits.seconds:g} s")
                self._dump_stacks(pid, stacks, watch)
            elif now >= next_poll and open_answer:
                self._check_tree(watch, limits)
                watch.cancelled = self.cancelled()
                next_poll = time.monotonic() + POLL_SECONDS
        self._drain(output, watch, limits)
        selector.close()
        return watch

    @staticmethod
    def _read(fd: int) -> bytes:
        try:
            return os.read(fd, 1 << 20)
        except BlockingIOError:
            return b""
        except OSError:
            return b""

    @staticmethod
    def _take_output(watch: _Watch, data: bytes, limits: ProbeLimits) -> None:
        watch.printed += len(data)
        watch.output += data[: max(0, OUTPUT_KEPT - len(watch.output))]
        if watch.printed > limits.output:
            watch.stopped = ("error", "output", f"printed more than {limits.output >> 20} MB")

    def _drain(self, fd: int, watch: _Watch, limits: ProbeLimits) -> None:
        while watch.stopped is None and (data := self._read(fd)):
            self._take_output(watch, data, limits)

    def _check_tree(self, watch: _Watch, limits: ProbeLimits) -> None:
        processes = [p for p in self._descendants() if p.pid not in self.own]
        used = _memory(processes, limits.memory)
        if len(processes) > limits.processes:
            watch.stopped = (
                "error",
                "processes",
                f"started {len(processes)} processes; the limit is {limits.processes}",
            )
        elif used > limits.memory:
            watch.stopped = (
                "memory",
                "memory",
                f"used {used / 2**30:.1f} GB; the limit is {limits.memory / 2**30:.1f} GB",
            )

    def _descendants(self) -> list:
        import psutil

        try:
            return psutil.Process(self.child.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def _dump_stacks(self, pid: int, stacks: int, watch: _Watch) -> None:
        self.child.send({"op": "signal", "pid": pid, "signal": int(signal.SIGUSR1)})
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            data = self._read(stacks)
            watch.stacks += data
            if not data and watch.stacks:
                break
            time.sleep(0.02)

    def _reap(self, pid: int) -> int | None:
        """TERM, a moment of grace, KILL for everything that the probe left; returns the probe's wait status."""
        try:
            if len([p for p in self._descendants() if p.pid not in self.own]) > 1:
                self.kill_strays()
            self.child.send({"op": "reap", "pid": pid})
            return self.child.receive()[0]["status"]
        except JudgeError:
            self.child.close()
            return None

    def kill_strays(self) -> None:
        """End every process below the child that is not the judge's own."""
        import psutil

        end = time.monotonic() + GRACE_SECONDS
        first = True
        while strays := [p for p in self._descendants() if p.pid not in self.own and _alive(p)]:
            for process in strays:
                with contextlib.suppress(psutil.Error):
                    process.terminate() if first else process.kill()
            if first:
                psutil.wait_procs(strays, timeout=0.2)
            first = False
            if time.monotonic() > end:
                break

    def _outcome(self, watch: _Watch, nonce: str, status: int | None, limits: ProbeLimits) -> Any:
        if watch.stopped is not None:
            raise ProbeFailed(
                *watch.stopped, {"stacks": watch.stacks.decode("utf-8", "replace"), "seconds": limits.seconds}
            )
        if status is None:
            raise ProbeFailed("error", "killed-parent", "your code ended the process that runs it")
        if not watch.answer:
            raise ProbeFailed("error", "exited", _how_it_ended(status), {"status": status})
        try:
            head, entries = _parse_answer(bytes(watch.answer))
            if head.get("nonce") != nonce:
                raise wire.WireError("an answer that does not belong to this question")
            if "oversize" in head:
                raise wire.WireError(str(head["oversize"])[:300])
            if "raised" in head:
                raise ProbeFailed("error", "exception", "raised", _checked_description(head["raised"]))
            return wire.unpack(head["value"], decode_arrays(entries))
        except (wire.WireError, KeyError, ValueError, TypeError, RecursionError) as error:
            raise ProbeFailed("error", "malformed", f"the answer could not be read: {error}") from None


def _memory(processes: list, limit: int) -> int:
    """Bytes of RSS of all processes together; where forks share pages, those are counted once (PSS) before the limit is called passed."""
    total = 0
    for process in processes:
        with contextlib.suppress(Exception):
            total += process.memory_info().rss
    if total <= limit or len(processes) < 2:
        return total
    proportional = 0
    for process in processes:
        with contextlib.suppress(Exception):
            full = process.memory_full_info()
            proportional += getattr(full, "pss", full.rss)
    return proportional


def _alive(process: Any) -> bool:
    with contextlib.suppress(Exception):
        return process.status() != "zombie"
    return False


def _complete(answer: bytearray) -> bool:
    if len(answer) < wire.HEADER.size:
        return False
    try:
        text, blob = wire.lengths(bytes(answer[: wire.HEADER.size]))
    except wire.WireError:
        return True
    return len(answer) >= wire.HEADER.size + text + blob


def _parse_answer(answer: bytes) -> tuple[dict, dict]:
    size = wire.HEADER.size
    if len(answer) < size:
        raise wire.WireError("a truncated answer")
    text, blob = wire.lengths(answer[:size])
    if len(answer) != size + text + blob:
        raise wire.WireError("a truncated answer" if len(answer) < size + text + blob else "bytes behind the answer")
    return wire.parse(answer[size : size + text], answer[size + text :])


def _checked_description(raised: Any) -> dict:
    """The exception's description, every field of the type that the report relies on."""
    if not isinstance(raised, dict):
        raise wire.WireError("a description that is no object")
    frames = raised.get("frames")
    clean = []
    for entry in frames if isinstance(frames, list) else []:
        path, line, function, text = entry
        clean.append((str(path), int(line), str(function), str(text)))
    return {
        "type": str(raised.get("type")), "text": str(raised.get("text")), "frames": clean,
        "imports": bool(raised.get("imports")), "name": str(raised.get("name") or ""),
        "kinds": [str(kind) for kind in raised.get("kinds", [])] if isinstance(raised.get("kinds"), list) else [],
    }  # fmt: skip


def _how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(ValueError):
            return f"the process was ended by {signal.Signals(number).name} before the check was done"
        return f"the process was ended by signal {number} before the check was done"
    return f"the process exited early with code {os.waitstatus_to_exitcode(status)}, before the check was done"


STACK_LINE = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$', re.M)


def innermost_line(stacks: str, tree: str) -> tuple[str, int, str] | None:
    """From faulthandler's dump (innermost frame first): the first line that lies in the tree, and the function it is in."""
    inside = [match for match in STACK_LINE.finditer(stacks) if match["file"].startswith(tree + os.sep)]
    if not inside:
        return None
    named = [match for match in inside if not match["function"].startswith("<")] or inside  # <listcomp> says nothing
    return os.path.relpath(inside[0]["file"], tree), int(inside[0]["line"]), named[0]["function"]
