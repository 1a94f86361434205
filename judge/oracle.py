"""What does Hugging Face say? Questions are plain functions that run in a process of their own; answers are cached by content."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from judge import wire
from judge.sandbox import decode_arrays, encode_array, probe_source
from judge.steps import ROOT
from judge.warm import Child, JudgeError

CACHE = ROOT / ".cache" / "oracle"


class MissingModel(Exception):
    """A checkpoint is not there. The text names the command that brings it."""


def model_path(name: str) -> Path:
    """Folder of a checkpoint.

    Raises:
        MissingModel: if it is not complete.
    """
    path = ROOT / "models" / name
    if not (path / "config.json").is_file() or not (path / "SHA256SUMS").is_file():
        raise MissingModel(f"models/{name} is not there. Get it with: python models/fetch.py {name}")
    return path


class Oracle:
    """Answers questions about Hugging Face, from the cache or from a child with transformers.

    A question is a function whose source is self-contained (it imports what it needs). An argument called `model` names a
    checkpoint and reaches the function as its path.
    """

    def __init__(self, cache: Path = CACHE) -> None:
        self.cache = cache
        self.child: Child | None = None
        self.misses = 0

    def ask(self, question: Callable, **inputs: Any) -> Any:
        """The answer of `question(**inputs)`: nested lists and dicts of numbers, strings and numpy arrays."""
        arrays: dict[str, dict] = {}
        packed = wire.pack(inputs, arrays, encode_array)
        source = probe_source(question)
        file = self.cache / f"{self._key(source, packed, arrays, inputs.get('model'))}.answer"
        answer = self._read(file)
        if answer is None:
            self.misses += 1
            answer = self._compute(question.__name__, source, inputs)
            self._write(file, answer)
        head, entries = self._parse(answer)
        return wire.unpack(head["value"], decode_arrays(entries))

    def _key(self, source: str, packed: Any, arrays: dict, model: str | None) -> str:
        digest = hashlib.sha256()
        manifest = (model_path(model) / "SHA256SUMS").read_text() if model else ""
        facts = [source, packed, manifest, version("transformers"), version("torch")]
        digest.update(json.dumps(facts, sort_keys=True).encode())
        for name, entry in sorted(arrays.items()):
            digest.update(f"{name} {entry['dtype']} {entry['shape']}".encode())
            digest.update(entry["data"])
        return digest.hexdigest()[:40]

    def _read(self, file: Path) -> bytes | None:
        """A cached frame, or None where there is none or where it is damaged."""
        try:
            data = file.read_bytes()
        except OSError:
            return None
        digest, frame = data[:32], data[32:]
        return frame if hashlib.sha256(frame).digest() == digest else None

    def _write(self, file: Path, frame: bytes) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(hashlib.sha256(frame).digest() + frame)
            temporary.replace(file)
        except OSError:
            pass  # a full or read-only disk costs time, not the verdict

    def _compute(self, name: str, source: str, inputs: dict) -> bytes:
        if self.child is None:
            self.child = Child("oracle")
            self.child.wait_ready()
        self.child.socket.settimeout(600)
        arrays: dict[str, dict] = {}
        given = dict(inputs)
        if given.get("model"):
            given["model"] = str(model_path(given["model"]))
        nonce = secrets.token_hex(16)
        head = {
            "op": "ask",
            "nonce": nonce,
            "source": source,
            "name": name,
            "seed": 0,
            "inputs": wire.pack(given, arrays, encode_array),
        }
        self.child.send(head, arrays)
        answer, entries = self.child.receive()
        if answer.get("nonce") != nonce or "value" not in answer:
            reason = answer.get("raised", {}).get("text") or answer.get("oversize") or "no answer"
            raise JudgeError(f"the oracle could not answer {name}: {reason}")
        return wire.frame({"value": answer["value"]}, entries)

    @staticmethod
    def _parse(frame: bytes) -> tuple[dict, dict]:
        size = wire.HEADER.size
        text, _ = wire.lengths(frame[:size])
        return wire.parse(frame[size : size + text], frame[size + text :])

    def close(self) -> None:
        if self.child is not None:
            self.child.close()
            self.child = None
