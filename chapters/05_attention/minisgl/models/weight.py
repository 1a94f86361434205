"""From safetensors files to the engine's weights, without ever holding more than the engine keeps.

A safetensors file is: 8 bytes with the length n of the header (little endian), n bytes of JSON, then the data.
The JSON says for each tensor its dtype, its shape and where its bytes begin and end, counted from the header's end.
So all names and shapes are known before any weight is read. We first plan which parts make up each merged weight, then
allocate that weight once and read each part's bytes straight into its place in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import torch

from minisgl.distributed import DistributedInfo, current_tp_info
from minisgl.utils.hf import download_hf_weight
from minisgl.utils.misc import div_ceil, div_even

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}

# Which weights are stacked into one, in this order.
MERGED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
MERGED_INTO = {part: merged for merged, parts in MERGED.items() for part in parts}
EXPERT = re.compile(r"(?P<experts>.+\.experts)\.(?P<index>\d+)\.\w+\.weight")


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor lies: its bytes begin at `offset` of `file`, row after row."""

    name: str
    file: Path
    dtype: torch.dtype
    shape: tuple[int, ...]
    offset: int


class Slot(NamedTuple):
    """A tensor's place in a merged weight: part `place` of `places`, of one expert, or of no expert (None)."""

    target: str
    expert: int | None
    place: int
    places: int


@dataclass(frozen=True)
class Shard:
    """The part of a tensor that one rank keeps: `length` items from `start` on along `dim`, then `padding` zeros."""

    dim: int
    start: int
    length: int
    padding: int = 0


def checkpoint_files(folder: Path) -> list[Path]:
    """The safetensors files that make up the checkpoint in a folder, in a fixed order.

    With model.safetensors.index.json: the files that its weight_map names, each once, sorted. Without it:
    model.safetensors alone if it is there, else all *.safetensors files, sorted. (Some repositories hold the same
    weights again as consolidated.safetensors, under other names.)
    FileNotFoundError if there is none or a named one is missing.
    """
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        files = [folder / name for name in sorted(names)]
    elif (folder / "model.safetensors").exists():
        files = [folder / "model.safetensors"]
    else:
        files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise FileNotFoundError(f"no safetensors files in {folder}")
    for file in files:
        if not file.exists():
            raise FileNotFoundError(f"{index.name} names {file.name}, which is not in {folder}")
    return files


def read_header(file: Path) -> list[StoredTensor]:
    """The tensors of a safetensors file, in the order of their bytes; nothing but the header is read.

    The header's entry "__metadata__" is no tensor. ValueError, naming the file, if it does not hold a header, a dtype
    is not in DTYPES, or a tensor's bytes do not fit its shape or end after the file does.
    """
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        file_size = file.stat().st_size
        try:
            header = json.loads(stream.read(size) if size <= file_size - 8 else "")
        except ValueError as error:
            raise ValueError(f"{file}: not a safetensors file, or cut short") from error
    header.pop("__metadata__", None)

    tensors = []
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] not in DTYPES:
            raise ValueError(f"{file}: {name} has the dtype {entry['dtype']}; known: {', '.join(DTYPES)}")
        dtype, shape = DTYPES[entry["dtype"]], tuple(entry["shape"])
        if end - begin != math.prod(shape) * dtype.itemsize or 8 + size + end > file_size:
            raise ValueError(f"{file}: cut short, the bytes of {name} are missing")
        tensors.append(StoredTensor(name, file, dtype, shape, 8 + size + begin))
    return sorted(tensors, key=lambda tensor: tensor.offset)


def slot_of(name: str) -> Slot:
    """Where a checkpoint's tensor belongs.

    `a.q_proj.weight` is part 0 of 3 of `a.qkv_proj.weight`; k_proj is part 1 and v_proj part 2. gate_proj and up_proj
    are parts 0 and 1 of 2 of gate_up_proj. The same for biases. Other tensors are part 0 of 1 of their own name.
    The tensors of all experts of a layer become one, whose name has no `.weight`: `a.experts.7.up_proj.weight` is part
    1 of 2 of `a.experts.gate_up_proj`, expert 7; `a.experts.7.down_proj.weight` part 0 of 1 of `a.experts.down_proj`.
    """
    expert = EXPERT.fullmatch(name)
    stem, _, kind = name.rpartition(".")  # "a.q_proj", "weight"
    path, dot, proj = stem.rpartition(".")  # "a", ".", "q_proj"

    merged, place, places = proj, 0, 1
    if proj in MERGED_INTO:
        merged = MERGED_INTO[proj]
        place, places = MERGED[merged].index(proj), len(MERGED[merged])
    if expert:
        return Slot(f"{expert['experts']}.{merged}", int(expert["index"]), place, places)
    return Slot(f"{path}{dot}{merged}.{kind}" if places > 1 else name, None, place, places)


def plan_weights(tensors: list[StoredTensor]) -> dict[str, list[tuple[Slot, StoredTensor]]]:
    """Group the checkpoint's tensors by the merged weight that they are parts of, in the order of experts and places.

    The tensors may come in any order; the groups are in the order of their first tensors. Names that end in
    `rotary_emb.inv_freq` are left out: old checkpoints store the frequencies, which follow from the config.
    ValueError, naming a weight, if a part or an expert below the highest is missing, or a name occurs twice.
    """
    groups: dict[str, dict[tuple[int, int], tuple[Slot, StoredTensor]]] = {}
    for tensor in tensors:
        if tensor.name.endswith("rotary_emb.inv_freq"):
            continue
        slot = slot_of(tensor.name)
        group = groups.setdefault(slot.target, {})
        key = (slot.expert or 0, slot.place)
        if key in group:
            raise ValueError(f"{slot.target}: the checkpoint has {tensor.name} besides {group[key][1].name}")
        group[key] = (slot, tensor)

    for target, group in groups.items():
        num_experts = max(expert for expert, _ in group) + 1
        places = next(iter(group.values()))[0].places
        if len(group) < num_experts * places:
            names = ", ".join(tensor.name for _, tensor in group.values())
            raise ValueError(f"{target} needs {places} part(s) of {num_experts} expert(s), there are only: {names}")
    return {target: [group[key] for key in sorted(group)] for target, group in groups.items()}


def shard_tensor(name: str, shape: tuple[int, ...], tp: DistributedInfo, num_kv_heads: int) -> Shard:
    """Which part of a checkpoint's tensor a rank keeps.

    q, k, v, gate, up (weights and biases): 1/size of the rows, dim 0. With more ranks than key heads, k and v give each
    rank the rows of one head, number rank * num_kv_heads // size.
    o and down (weights): 1/size of the columns, dim 1. embed_tokens and lm_head: ceil(rows / size) rows; the last ranks
    have fewer and padding instead. Everything else, and everything if size is 1: all rows, dim 0.
    ValueError if a size that must be divided cannot be.
    """
    if tp.size == 1:
        return Shard(0, 0, shape[0])
    *_, proj, kind = ("", *name.split("."))
    if proj in ("embed_tokens", "lm_head"):
        rows = div_ceil(shape[0], tp.size)
        start = min(tp.rank * rows, shape[0])
        length = min(rows, shape[0] - start)
        return Shard(0, start, length, padding=rows - length)
    if proj in ("k_proj", "v_proj") and num_kv_heads < tp.size:
        div_even(num_kv_heads, tp.size, allow_replicate=True)
        head_dim = shape[0] // num_kv_heads
        return Shard(0, tp.rank * num_kv_heads // tp.size * head_dim, head_dim)
    if proj in MERGED_INTO:
        rows = div_even(shape[0], tp.size)
        return Shard(0, tp.rank * rows, rows)
    if proj in ("o_proj", "down_proj") and kind == "weight":
        columns = div_even(shape[1], tp.size)
        return Shard(1, tp.rank * columns, columns)
    return Shard(0, 0, shape[0])


def _read_bytes(stream: BinaryIO, offset: int, into: torch.Tensor) -> None:
    """Fill a contiguous tensor with the file's bytes from offset on."""
    view = memoryview(into.flatten().view(torch.uint8).numpy())
    stream.seek(offset)
    while view:
        count = stream.readinto(view)  # may give less than asked for: the system reads at most 2 GiB at once
        if not count:
            raise ValueError(f"{stream.name}: cut short while it was read")
        view = view[count:]


def read_shard(tensor: StoredTensor, shard: Shard, into: torch.Tensor) -> None:
    """Read one rank's part of a tensor into a contiguous CPU tensor of the shard's shape, padding included.

    Rows lie one after another in the file, so a shard along dim 0 is one range of bytes, and one along dim 1
    is a range in every row. No other byte is read, and no other tensor is allocated. Padding becomes zeros.
    """
    with tensor.file.open("rb", buffering=0) as stream:
        if shard.dim == 0:
            row_bytes = into[:1].nbytes
            _read_bytes(stream, tensor.offset + shard.start * row_bytes, into[: shard.length])
            into[shard.length :].zero_()
        else:
            row_bytes = tensor.shape[1] * into.itemsize
            start = tensor.offset + shard.start * into.itemsize
            for i, row in enumerate(into):
                _read_bytes(stream, start + i * row_bytes, row)


def local_shape(tensor: StoredTensor, shard: Shard) -> tuple[int, ...]:
    """The shape of what a rank keeps of a tensor, padding included."""
    shape = list(tensor.shape)
    shape[shard.dim] = shard.length + shard.padding
    return tuple(shape)


def read_weight(parts: list[tuple[Slot, StoredTensor]], tp: DistributedInfo, num_kv_heads: int) -> torch.Tensor:
    """One rank's part of a merged weight, on the CPU: allocated once, then filled part by part.

    parts: a group of plan_weights. Result: the parts below each other, [rows, ...]; for experts [experts, rows, ...].
    ValueError, naming the weight, if its parts differ in dtype or do not fit together.
    """
    first_slot, first = parts[0]
    shards = [shard_tensor(tensor.name, tensor.shape, tp, num_kv_heads) for _, tensor in parts]
    shapes = [local_shape(tensor, shard) for (_, tensor), shard in zip(parts, shards, strict=True)]
    rows = [shape[0] for shape in shapes[: first_slot.places]]  # one expert's parts; all experts have the same
    num_experts = len(parts) // first_slot.places
    same_rest = len({(tensor.dtype, shape[1:]) for (_, tensor), shape in zip(parts, shapes, strict=True)}) == 1
    if not same_rest or [shape[0] for shape in shapes] != rows * num_experts:
        raise ValueError(f"{first_slot.target}: its parts do not fit together, {[tensor.shape for _, tensor in parts]}")

    weight = torch.empty((num_experts * sum(rows), *shapes[0][1:]), dtype=first.dtype, device="cpu")
    for (_, tensor), shard, into in zip(parts, shards, weight.split(rows * num_experts), strict=True):
        read_shard(tensor, shard, into)
    return weight if first_slot.expert is None else weight.unflatten(0, (num_experts, sum(rows)))


def load_weight(model_path: str | Path, device: torch.device | str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (merged name, tensor on device) for every weight of a checkpoint, in the checkpoint's dtype.

    model_path: a local folder, or a hub name that is downloaded. With tensor parallelism only this rank's part
    is read. Between two yields the generator keeps no tensor, not even the last one that it gave, and a tensor shares
    its memory with no other: the caller decides what stays. A caller that keeps all weights of a model needs, at any
    time, at most 1.3 times their bytes, pages of mapped files included.
    Errors: those of checkpoint_files, read_header, plan_weights and read_weight.
    """
    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    for name, parts in plan_weights(tensors).items():
        yield name, read_weight(parts, tp, num_kv_heads).to(device)


def read_num_kv_heads(folder: Path) -> int:
    """num_key_value_heads of the folder's config.json, or num_attention_heads if it is absent or null."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config.get("num_key_value_heads") or config["num_attention_heads"]
