"""The judge's child: imports torch once, then forks for each probe and sends back what the probe returned.

Runs in its own interpreter (`python -I child.py FD KIND`) with nothing of the judge but wire.py beside it. KIND is "sandbox" (guards on,
a fork per probe) or "oracle" (Hugging Face allowed, questions answered in this process).
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import wire  # noqa: E402

MESSAGE_LIMIT = 4000


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    oracle = sys.argv[2] == "oracle"
    if hasattr(os, "setsid"):
        os.setsid()
    _become_subreaper()
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    control.sendall(wire.frame({"ready": os.getpid()}, {}))
    while True:
        try:
            head, entries = wire.read_frame(control.recv)
        except (EOFError, ConnectionError):
            os._exit(0)
        if head["op"] == "ask":
            _send(control.sendall, head["nonce"], *_run(head, entries))
        elif head["op"] == "probe":
            _, fds, _, _ = socket.recv_fds(control, 1, 4)
            pid = os.fork()
            if pid == 0:
                control.close()
                _probe_process(head, entries, fds, guard=not oracle)
            for fd in fds:
                os.close(fd)
            control.sendall(wire.frame({"pid": pid}, {}))
        elif head["op"] == "signal":
            _signal(head["pid"], head["signal"])
        elif head["op"] == "reap":
            control.sendall(wire.frame({"status": _reap(head["pid"])}, {}))


def _become_subreaper() -> None:
    """Orphans of the learner's code become children of this process, so that the judge finds and ends them (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _reap(pid: int) -> int | None:
    """End the probe's process group, wait for the probe, and collect orphans. Returns its wait status."""
    import signal

    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    _signal(pid, signal.SIGKILL)
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        status = None
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    return status


def _probe_process(head: dict, entries: dict, fds: list[int], guard: bool) -> None:
    """The forked child: redirect, guard, run the probe, send the answer, exit. Never returns."""
    import faulthandler
    import signal

    answer, output, stacks = fds[:3]
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for fd in (null, output):
        os.close(fd)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass
    os.chdir(head["scratch"])
    if guard:
        _guard(head)
    body, arrays = _run(head, entries)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        pass

    def send(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(answer, view[: 1 << 20]) :]

    _send(send, head["nonce"], body, arrays)
    os._exit(0)


def _send(send, nonce: str, body: dict, arrays: dict) -> None:
    try:
        data = wire.frame({"nonce": nonce, **body}, arrays)
    except wire.WireError as error:
        data = wire.frame({"nonce": nonce, "oversize": str(error)}, {})
    send(data)


def _run(head: dict, entries: dict) -> tuple[dict, dict]:
    """Execute the probe's source on its inputs. Returns the JSON body and the arrays of the answer."""
    import random

    import numpy
    import torch

    tree = head.get("tree")
    if tree:
        sys.path.insert(0, tree)
    sys.dont_write_bytecode = True
    random.seed(head["seed"])
    numpy.random.seed(head["seed"] % (1 << 32))
    torch.manual_seed(head["seed"])
    arrays: dict[str, dict] = {}
    try:
        inputs = wire.unpack(head["inputs"], _tensors(entries, torch))
        space: dict = {"__name__": "probe"}
        exec(compile(head["source"], "<probe>", "exec"), space)
        value = space[head["name"]](**inputs)
        return {"value": wire.pack(value, arrays, _encoder(torch, numpy))}, arrays
    except wire.WireError as error:
        return {"oversize": str(error)}, {}
    except BaseException as error:
        return {"raised": _describe(error, tree)}, {}


def _tensors(entries: dict, torch) -> dict:
    decoded = {}
    for name, entry in entries.items():
        dtype = getattr(torch, wire.TORCH_NAMES[entry["dtype"]])
        data = bytearray(entry["data"])
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        decoded[name] = flat.reshape(entry["shape"])
    return decoded


def _encoder(torch, numpy):
    plain = (torch.Tensor, torch.nn.Parameter)

    def encode(item) -> dict | None:
        if type(item) is numpy.ndarray or isinstance(item, numpy.generic):
            if item.dtype.hasobject or item.dtype.kind not in "biuf":
                return None
            item = torch.from_numpy(numpy.array(item, order="C"))
        if type(item) not in plain:
            return None
        code = wire.CODES.get(str(item.dtype).removeprefix("torch."))
        if code is None or item.layout != torch.strided:
            return None
        flat = item.detach().to("cpu").contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return {"dtype": code, "shape": list(item.shape), "data": data}

    return encode


def _describe(error: BaseException, tree: str | None) -> dict:
    """What the judge tells about an exception: type, text, and the frames that lie in the tree."""
    import linecache

    try:
        text = str(error)[:MESSAGE_LIMIT]
    except BaseException:
        text = "(the exception's own text could not be made)"
    frames = []
    trace = error.__traceback__
    while trace is not None and len(frames) < 500:
        code = trace.tb_frame.f_code
        if tree and code.co_filename.startswith(tree + os.sep):
            path = os.path.relpath(code.co_filename, tree)
            line = linecache.getline(code.co_filename, trace.tb_lineno).rstrip("\n")[:300]
            frames.append([path, trace.tb_lineno, code.co_name, line])
        trace = trace.tb_next
    found = {
        "type": type(error).__name__[:200],
        "text": text,
        "frames": frames[-50:],
        "imports": isinstance(error, ImportError),
    }
    found["kinds"] = [cls.__name__ for cls in type(error).__mro__][:20]
    for name in ("name", "lineno"):
        value = getattr(error, name, None)
        if isinstance(value, (str, int)):
            found[name] = value
    return found


def _guard(head: dict) -> None:
    """Refuse what the learner's code has no business with: Hugging Face's models, the repository, files outside scratch."""
    refused_modules = ("modeling_", "modular_")
    refused = {"transformers.generation.logits_process", "transformers.generation.utils", "vllm", "sglang", "conftest"}

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            models = name.startswith("transformers.models.") and name.rsplit(".", 1)[-1].startswith(refused_modules)
            if models or name in refused or name.split(".")[0] in ("vllm", "sglang"):
                raise ImportError(f"{name} is not available here: the engine does this work itself", name=name)

    sys.meta_path.insert(0, Finder)
    fence = os.path.realpath(head["fence"]) + os.sep
    allowed = tuple(os.path.realpath(path) + os.sep for path in head["readable"])
    writable = tuple(os.path.realpath(path) + os.sep for path in [head["scratch"], "/dev", "/proc/self"])
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    realpath, fspath, fsdecode = os.path.realpath, os.fspath, os.fsdecode

    def hook(event: str, args: tuple) -> None:
        if event != "open" or isinstance(args[0], int) or args[0] is None:
            return
        path = realpath(fsdecode(fspath(args[0])))
        if args[2] & writes and not path.startswith(writable):
            raise PermissionError(f"the judge lets your code write in its own folder only, not {path}")
        if path.startswith(fence) and not path.startswith(allowed):
            raise PermissionError("the judge does not let your code read the workbook's own files")

    sys.addaudithook(hook)


if __name__ == "__main__":
    main()
