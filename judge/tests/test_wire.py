"""Frames: what goes in comes out, and nothing malformed gets through."""

import json
import struct

import numpy as np
import pytest

from judge import wire
from judge.sandbox import decode_arrays, encode_array


def roundtrip(value):
    arrays = {}
    head = {"value": wire.pack(value, arrays, encode_array)}
    data = wire.frame(head, arrays)
    view = memoryview(data)
    position = 0

    def read(count):
        nonlocal position
        part = bytes(view[position : position + count])
        position += len(part)
        return part

    head, entries = wire.read_frame(read)
    return wire.unpack(head["value"], decode_arrays(entries))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(2**62),
        2**80,
        1.5,
        float("inf"),
        "text ✓ \ud800",
        [1, [2, "x"]],
        {"a": {1: [None]}, 2: "b"},
        {"__array__": "a0"},
        [],
    ],
)
def test_values(value):
    assert roundtrip(value) == value


def test_nan():
    assert np.isnan(roundtrip(float("nan")))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3)])
def test_arrays(dtype, shape):
    array = np.ones(shape, dtype)
    back = roundtrip({"x": array})["x"]
    assert back.shape == shape and back.torch_dtype == dtype and np.array_equal(back, array)


def test_unknown_objects_become_foreign():
    assert roundtrip({"x": object()})["x"].type_name == "object"
    assert roundtrip(np.array([object()])).type_name == "ndarray"


def test_too_deep_and_too_many():
    deep = []
    for _ in range(40):
        deep = [deep]
    for value in (deep, list(range(wire.MAX_ENTRIES + 1))):
        with pytest.raises(wire.WireError):
            wire.pack(value, {}, encode_array)


def blob(table, data=b"", size=None):
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


@pytest.mark.parametrize(
    "bad",
    [
        b"", b"1234567", blob({}, size=99), blob([]), blob({"a": 1}), blob({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}, b"12345678"),
        blob({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234"), blob({"a": {"dtype": "X9", "shape": [], "data_offsets": [0, 0]}}),
        blob({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}), blob({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, b"1234"),
        blob({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"12"), blob({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}}, b"12"),
        blob({"a": {"dtype": "U8", "shape": [1 << 50], "data_offsets": [0, 1]}}, b"1"), struct.pack("<Q", 9) + b"{" * 9,
    ],
)  # fmt: skip
def test_bad_arrays_are_refused(bad):
    with pytest.raises(wire.WireError):
        wire.parse_safetensors(bad)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"a": 1, "a": 2}', b'{"a": NaN}', b"\xff", b'"x"', b"[" * 100_000]
)
def test_bad_heads_are_refused(text):
    with pytest.raises(wire.WireError):
        wire.parse(text, b"")


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"x": 1},
        {"__array__": "zz"},
        {"__float__": "1"},
        {"__dict__": [[1]]},
        {"__dict__": 3},
        {"__dict__": [[{"__dict__": []}, 1]]},
    ],
)
def test_bad_values_are_refused(value):
    with pytest.raises((wire.WireError, TypeError)):
        wire.unpack(value, {})


def test_every_truncation_of_a_frame_is_noticed():
    arrays = {}
    data = wire.frame({"value": wire.pack({"x": np.arange(3.0)}, arrays, encode_array)}, arrays)
    from judge.sandbox import _parse_answer

    _parse_answer(data)
    for cut in range(len(data)):
        with pytest.raises(wire.WireError):
            _parse_answer(data[:cut])
    with pytest.raises(wire.WireError):
        _parse_answer(data + b"x")
