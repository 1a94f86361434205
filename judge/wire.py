"""Frames between the judge and its children: JSON for the structure, safetensors for the arrays. Never pickle.

A frame is MAGIC, the length of the JSON part (4 bytes), the length of the safetensors part (8 bytes), and the parts.
This file also runs inside the sandbox, so it imports nothing of the judge.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

MAGIC = b"MSJ1"
HEADER = struct.Struct("<4sIQ")
MAX_JSON = 16 << 20
MAX_ARRAYS = 1 << 30
MAX_ENTRIES = 20_000
MAX_DEPTH = 24

NUMPY_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1",
    "BOOL": "|b1", "BF16": "<u2",
}  # fmt: skip
ITEM_SIZES = {code: int(name[-1]) for code, name in NUMPY_DTYPES.items()}
TORCH_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
CODES = {name: code for code, name in TORCH_NAMES.items()}


class WireError(Exception):
    """A frame is malformed, truncated or too large."""


class Foreign:
    """Stands in the evidence for a value that has no place in it: an object of a class that the wire does not know."""

    def __init__(self, type_name: str, text: str = "") -> None:
        self.type_name, self.text = type_name, text

    def __repr__(self) -> str:
        return f"<{self.type_name} {self.text}>"


def pack(value: Any, arrays: dict[str, dict], encode_array) -> Any:
    """Turn `value` into JSON, moving arrays to `arrays`. `encode_array(x)` returns a safetensors entry or None."""
    count = 0

    def walk(item: Any, depth: int) -> Any:
        nonlocal count
        count += 1
        if count > MAX_ENTRIES:
            raise WireError(f"more than {MAX_ENTRIES:,} values in one answer")
        if depth > MAX_DEPTH:
            raise WireError(f"an answer nested more than {MAX_DEPTH} deep")
        if item is None or type(item) in (bool, str):
            return item
        if type(item) is int:
            return item if abs(item) < 1 << 63 else {"__int__": str(item)[:5000]}
        if type(item) is float:
            return item if math.isfinite(item) else {"__float__": repr(item)}
        if type(item) is dict:
            return {"__dict__": [[walk(k, depth + 1), walk(v, depth + 1)] for k, v in item.items()]}
        if type(item) in (list, tuple):
            return [walk(v, depth + 1) for v in item]
        entry = encode_array(item)
        if entry is not None:
            name = f"a{len(arrays)}"
            arrays[name] = entry
            return {"__array__": name}
        return {"__object__": type(item).__name__[:200]}

    return walk(value, 0)


def unpack(value: Any, arrays: dict[str, Any]) -> Any:
    """The inverse of `pack`; `arrays` maps names to decoded arrays."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise WireError("an object with an unknown form")
    ((kind, inner),) = value.items()
    if kind == "__dict__" and isinstance(inner, list):
        pairs = {}
        for pair in inner:
            if not isinstance(pair, list) or len(pair) != 2:
                raise WireError("a dict entry that is no pair")
            key = unpack(pair[0], arrays)
            key = tuple(key) if isinstance(key, list) else key
            if not isinstance(key, (str, int, float, bool, tuple, type(None))):
                raise WireError("a key that is no string or number")
            pairs[key] = unpack(pair[1], arrays)
        return pairs
    if kind == "__array__" and inner in arrays:
        return arrays[inner]
    if kind == "__float__" and inner in ("nan", "inf", "-inf"):
        return float(inner)
    if kind == "__int__":
        return int(inner)
    if kind == "__object__":
        return Foreign(str(inner))
    raise WireError(f"an object of unknown kind {kind!r}"[:200])


def frame(head: dict, arrays: dict[str, dict]) -> bytes:
    """One frame from a JSON-ready dict and array entries ({"dtype": "F32", "shape": [2, 3], "data": bytes})."""
    text = json.dumps(head, allow_nan=False).encode("utf-8", "surrogatepass")
    blob = safetensors(arrays) if arrays else b""
    if len(text) > MAX_JSON or len(blob) > MAX_ARRAYS:
        raise WireError(f"an answer of {len(text) + len(blob):,} bytes is over the limit")
    return HEADER.pack(MAGIC, len(text), len(blob)) + text + blob


def safetensors(arrays: dict[str, dict]) -> bytes:
    """The safetensors format: 8 bytes with the length of a JSON table of dtypes, shapes and offsets, the table, the data."""
    table, parts, offset = {}, [], 0
    for name, entry in arrays.items():
        end = offset + len(entry["data"])
        table[name] = {"dtype": entry["dtype"], "shape": entry["shape"], "data_offsets": [offset, end]}
        parts.append(entry["data"])
        offset = end
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def lengths(header: bytes) -> tuple[int, int]:
    """Lengths of the two parts, from the first HEADER.size bytes."""
    magic, text, blob = HEADER.unpack(header)
    if magic != MAGIC:
        raise WireError("not a frame")
    if text > MAX_JSON or blob > MAX_ARRAYS:
        raise WireError("a frame over the limit")
    return text, blob


def parse(text: bytes, blob: bytes) -> tuple[dict, dict[str, dict]]:
    """The JSON head and the array entries of a frame, every length and type checked."""
    head = _json(text)
    if not isinstance(head, dict):
        raise WireError("a frame without a head")
    return head, parse_safetensors(blob) if blob else {}


def _json(text: bytes) -> Any:
    def refuse_duplicates(pairs: list) -> dict:
        table = dict(pairs)
        if len(table) != len(pairs):
            raise WireError("a frame with duplicate keys")
        return table

    def refuse(constant: str) -> None:
        raise WireError(f"a frame with the constant {constant}")

    try:
        return json.loads(
            text.decode("utf-8", "surrogatepass"), object_pairs_hook=refuse_duplicates, parse_constant=refuse
        )
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame that cannot be read: {type(error).__name__}") from None


def parse_safetensors(blob: bytes) -> dict[str, dict]:
    """Array entries of safetensors bytes.

    Raises:
        WireError: if a length, an offset, a shape or a dtype does not add up.
    """
    if len(blob) < 8:
        raise WireError("truncated arrays")
    (size,) = struct.unpack("<Q", blob[:8])
    if size > len(blob) - 8:
        raise WireError("truncated arrays")
    table, data = _json(blob[8 : 8 + size]), memoryview(blob)[8 + size :]
    if not isinstance(table, dict) or len(table) > MAX_ENTRIES:
        raise WireError("arrays without a table")
    entries, position = {}, 0
    for name, entry in table.items():
        try:
            code, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            sound = code in ITEM_SIZES and len(shape) <= 16 and all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
            sound = (
                sound and type(begin) is int and begin == position and type(end) is int and begin <= end <= len(data)
            )
            sound = sound and math.prod(shape) * ITEM_SIZES[code] == end - begin
        except (TypeError, KeyError, ValueError):
            sound = False
        if not sound:
            raise WireError("an array whose description does not add up")
        entries[name] = {"dtype": code, "shape": shape, "data": bytes(data[begin:end])}
        position = end
    if position != len(data):
        raise WireError("bytes behind the arrays")
    return entries


def read_exact(read, count: int) -> bytes:
    """Read exactly `count` bytes with `read(n)`.

    Raises:
        EOFError: if the stream ends before.
    """
    parts = []
    while count:
        part = read(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frame(read) -> tuple[dict, dict[str, dict]]:
    text, blob = lengths(read_exact(read, HEADER.size))
    return parse(read_exact(read, text), read_exact(read, blob))
