"""Exercise 161: stream the weights; merge them, stack experts, hold one at a time."""

import numpy as np

from judge import expect

MERGED = {"qkv_proj": ["q_proj", "k_proj", "v_proj"], "gate_up_proj": ["gate_proj", "up_proj"]}
PART_OF = {part: (merged, i) for merged, parts in MERGED.items() for i, part in enumerate(parts)}


# ---- probes: run next to the learner's code ------------------------------------------------------------------------


def slots(names):
    """slot_of of each name."""
    from minisgl.models.weight import slot_of

    return [list(slot_of(name)) for name in names]


def plans(cases):
    """plan_weights of each case, a list of [name, shape]: the groups in their order, or the exception."""
    from pathlib import Path

    import torch

    from minisgl.models.weight import StoredTensor, plan_weights

    found = []
    for case in cases:
        tensors = [StoredTensor(name, Path("x"), torch.float32, tuple(shape), 100 + i) for i, (name, shape) in enumerate(case)]
        before = list(tensors)
        try:
            groups = plan_weights(tensors)
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
            continue
        rows = [[target, [[stored.name, *list(slot)] for slot, stored in parts]] for target, parts in groups.items()]
        found.append({"groups": rows, "unchanged": tensors == before})
    return found


def loads(cases):
    """Write each case's files, load them, and return what came: [name, tensor] in order, or the exception.

    A case: files {file name: [[tensor name, dtype, values], ...]}, index (bool), tp [rank, size], kv_heads, device.
    """
    import json
    import struct
    from pathlib import Path

    import torch

    from minisgl.distributed.info import reset_tp_info, set_tp_info
    from minisgl.models.weight import load_weight

    codes = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
    found = []
    for number, case in enumerate(cases):
        folder = Path(f"checkpoint-{number}")
        folder.mkdir()
        where = {}
        for file, tensors in case["files"].items():
            header, data = {"__metadata__": {"format": "pt"}}, b""
            for name, dtype, values in tensors:
                raw = values.to(getattr(torch, dtype)).contiguous().flatten().view(torch.uint8).numpy().tobytes()
                header[name] = {"dtype": codes[dtype], "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
                data += raw
                where[name] = file
            text = json.dumps(header).encode()
            (folder / file).write_bytes(struct.pack("<Q", len(text)) + text + data)
        if case.get("index"):
            (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
        config = {"num_attention_heads": 8, "num_key_value_heads": case.get("kv_heads", 8)}
        (folder / "config.json").write_text(json.dumps(config))
        reset_tp_info()
        if case.get("tp"):
            set_tp_info(*case["tp"])
        try:
            came = [[n, w] for n, w in load_weight(folder if number % 2 else str(folder), case.get("device", "cpu"))]
            found.append(
                {
                    "weights": [[n, torch.empty(0) if w.device.type == "meta" else w] for n, w in came],
                    "devices": [w.device.type for _, w in came],
                    "own": [w.device.type == "meta" or w.untyped_storage().nbytes() == w.nbytes for _, w in came],
                }
            )
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
    return found


def read_groups(groups):
    """read_weight of single groups [[name, dtype, values], ...], each in a file of its own: the weight, or the exception."""
    import json
    import struct
    from pathlib import Path

    import torch

    from minisgl.distributed import DistributedInfo
    from minisgl.models.weight import plan_weights, read_header, read_weight

    codes = {"float32": "F32", "bfloat16": "BF16"}
    found = []
    for number, group in enumerate(groups):
        file, header, data = Path(f"group-{number}.safetensors"), {}, b""
        for name, dtype, values in group:
            raw = values.to(getattr(torch, dtype)).contiguous().flatten().view(torch.uint8).numpy().tobytes()
            header[name] = {"dtype": codes[dtype], "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + data)
        ((_, parts),) = plan_weights(read_header(file)).items()
        try:
            found.append({"weight": read_weight(parts, DistributedInfo(0, 1), 8)})
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
    return found


def watch_memory(layers, side):
    """Load `layers` layers of square weights, once keeping nothing and once keeping all, and look at the memory.

    All sizes are in bytes. alive: of tensors that nobody but the generator can hold, at each yield. python: what Python's
    own allocator handed out, at each yield and at most. peak: what the process grew by while all weights were kept.
    """
    import contextlib
    import ctypes
    import gc
    import json
    import struct
    import threading
    import time
    import tracemalloc
    from pathlib import Path

    import torch

    from minisgl.models.weight import load_weight

    folder = Path("large")
    folder.mkdir()
    names = ["mlp.down_proj", "mlp.gate_proj", "mlp.up_proj", "self_attn.k_proj", "self_attn.o_proj", "self_attn.q_proj", "self_attn.v_proj"]
    header, at = {}, 0
    for i in range(layers):
        for name in names:
            header[f"model.layers.{i}.{name}.weight"] = {"dtype": "F32", "shape": [side, side], "data_offsets": [at, at + 4 * side * side]}
            at += 4 * side * side
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for i in range(len(header)):
            stream.write(bytes([i + 1]) * (4 * side * side))
    list(load_weight(str(folder), "meta"))  # whatever is imported at the first use is here now

    def alive():
        tensors = [x for x in gc.get_objects() if isinstance(x, torch.Tensor)]
        storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors if x.device.type == "cpu"}
        return sum(storages.values())

    gc.collect()
    gc.freeze()  # what exists already is not looked at
    weights = load_weight(str(folder), "cpu")
    tracemalloc.start()
    rows, largest, total = [], 0, 0
    while True:
        item = next(weights, None)
        if item is None:
            break
        size = item[1].nbytes
        largest, total = max(largest, size), total + size
        del item
        rows.append({"size": size, "alive": alive(), "python": tracemalloc.get_traced_memory()[0]})
    python_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del weights
    gc.unfreeze()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system, so that it counts when it is used again

    def resident(field="VmRSS"):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

    try:
        with open("/proc/self/clear_refs", "w") as control:
            control.write("5")  # the high-water mark starts again from here
        before = resident()
        kept = dict(load_weight(str(folder), "cpu"))
        peak = resident("VmHWM") - before
    except OSError:  # no such file on this system: look often instead
        import psutil

        process, seen, stop = psutil.Process(), [], threading.Event()

        def look():
            while not stop.is_set():
                seen.append(process.memory_info().rss)
                time.sleep(0.0005)

        before = process.memory_info().rss
        thread = threading.Thread(target=look)
        thread.start()
        kept = dict(load_weight(str(folder), "cpu"))
        stop.set()
        thread.join()
        peak = max(seen) - before
    return {"rows": rows, "largest": largest, "total": total, "python peak": python_peak, "peak": peak, "count": len(kept)}


# ---- what should come ----------------------------------------------------------------------------------------------


def merge(arrays, mistake=None):
    """The merged weights of {name: array}, by the definition; or with a mistake."""
    experts, groups, done = {}, {}, {}
    for name, array in arrays.items():
        *path, proj, kind = name.split(".")
        merged, place = PART_OF.get(proj, (proj, 0))
        if len(path) > 1 and path[-2] == "experts":
            experts.setdefault(".".join([*path[:-1], merged]), {}).setdefault(int(path[-1]), {})[place] = array
        elif proj in PART_OF:
            groups.setdefault(".".join([*path, merged, kind]), {})[place] = array
        else:
            done[name] = array

    def join(parts):
        keys = list(parts) if mistake == "parts-in-file-order" else sorted(parts)
        if mistake == "gate-up-swapped" and len(parts) == 2:
            keys = keys[::-1]
        return np.concatenate([parts[k] for k in keys], axis=1 if mistake == "concatenated-along-columns" else 0)

    for target, parts in groups.items():
        done[target] = join(parts)
    for target, by_index in experts.items():
        order = sorted(by_index, key=str if mistake == "experts-in-string-order" else None)
        done[target] = np.stack([join(by_index[i]) for i in order])
    return done


def shard(name, array, rank, size, kv_heads):
    """What a rank keeps of one tensor of the checkpoint."""
    proj, kind = name.split(".")[-2:]
    if proj in ("embed_tokens", "lm_head"):
        rows = -(-len(array) // size)
        out = np.zeros((rows, *array.shape[1:]), array.dtype)
        mine = array[rank * rows : (rank + 1) * rows]
        out[: len(mine)] = mine
        return out
    if proj in ("k_proj", "v_proj") and kv_heads < size:
        head = len(array) // kv_heads
        first = rank * kv_heads // size
        return array[first * head : (first + 1) * head]
    if proj in PART_OF:
        return np.split(array, size)[rank]
    if proj in ("o_proj", "down_proj") and kind == "weight":
        return np.split(array, size, axis=1)[rank]
    return array


def numbers(rng, *shape):
    """Integers that every dtype holds exactly."""
    return rng.integers(-128, 128, shape).astype(np.float32)


def layer(rng, prefix="model.layers.0.", q=8, kv=4, hidden=6, wide=10, bias=False):
    """A dense layer, in the order in which Hugging Face writes: by name."""
    rows = {"k_proj": kv, "q_proj": q, "v_proj": kv}
    tensors = {f"{prefix}self_attn.{n}.weight": numbers(rng, r, hidden) for n, r in rows.items()}
    if bias:
        tensors |= {f"{prefix}self_attn.{n}.bias": numbers(rng, r) for n, r in rows.items()}
    tensors[f"{prefix}self_attn.o_proj.weight"] = numbers(rng, hidden, q)
    tensors[f"{prefix}mlp.gate_proj.weight"] = numbers(rng, wide, hidden)
    tensors[f"{prefix}mlp.up_proj.weight"] = numbers(rng, wide, hidden)
    tensors[f"{prefix}mlp.down_proj.weight"] = numbers(rng, hidden, wide)
    tensors[f"{prefix}input_layernorm.weight"] = numbers(rng, hidden)
    return dict(sorted(tensors.items()))


def moe_layer(rng, prefix="model.layers.1.", experts=12, hidden=6, wide=4):
    tensors = {f"{prefix}mlp.gate.weight": numbers(rng, experts, hidden)}
    for i in range(experts):
        tensors[f"{prefix}mlp.experts.{i}.gate_proj.weight"] = numbers(rng, wide, hidden)
        tensors[f"{prefix}mlp.experts.{i}.up_proj.weight"] = numbers(rng, wide, hidden)
        tensors[f"{prefix}mlp.experts.{i}.down_proj.weight"] = numbers(rng, hidden, wide)
    return dict(sorted(tensors.items()))


def one_file(arrays, dtype="float32", **more):
    return {"files": {"model.safetensors": [[name, dtype, array] for name, array in arrays.items()]}, **more}


def weights_of(answer, want, suspects=None, exact_dtype="float32"):
    """Compare a loaded checkpoint with the wanted weights, name by name. suspects: mistake -> its weights by name."""
    suspects = suspects or {}
    if "raised" in answer:
        raise expect.Mismatch("mismatch", f"load_weight raises {answer['raised']}", [str(answer["text"])[:150]])
    names = [name for name, _ in answer["weights"]]
    inv_freq = [name for name in names if isinstance(name, str) and name.endswith("rotary_emb.inv_freq")]
    expect.that(not inv_freq, "rotary_emb.inv_freq is loaded as a weight", mistake="inv-freq-loaded")
    twice = sorted({n for n in names if names.count(n) > 1})
    expect.that(not twice, "a weight comes twice", twice[:3])
    missing, extra = sorted(set(want) - set(names)), sorted(set(names) - set(want))
    expect.that(not missing and not extra, "the names of the weights are not right", [f"missing: {missing[:3]}", f"too many: {extra[:3]}"])
    for name, array in answer["weights"]:
        others = {m: alternative[name] for m, alternative in suspects.items() if name in alternative}
        expect.close(array, want[name], atol=0, name=name, axes=("row", "column"), suspects=others)
        expect.is_tensor(array, name, dtype=exact_dtype if isinstance(exact_dtype, str) else exact_dtype[name])
    held = all(answer["own"])
    expect.that(held, "a weight is a view of a larger tensor, which stays in memory with it", mistake="views-of-the-file")


# ---- tests ---------------------------------------------------------------------------------------------------------


def test_slots(tree):
    """slot_of: which weight a tensor belongs to, and at which place"""
    attn, mlp, moe = "model.layers.10.self_attn", "model.layers.3.mlp", "model.layers.7.mlp.experts"
    rows = [
        (f"{attn}.q_proj.weight", f"{attn}.qkv_proj.weight", None, 0, 3), (f"{attn}.k_proj.weight", f"{attn}.qkv_proj.weight", None, 1, 3),
        (f"{attn}.v_proj.bias", f"{attn}.qkv_proj.bias", None, 2, 3), (f"{attn}.o_proj.weight", f"{attn}.o_proj.weight", None, 0, 1),
        (f"{attn}.q_norm.weight", f"{attn}.q_norm.weight", None, 0, 1), (f"{mlp}.gate_proj.weight", f"{mlp}.gate_up_proj.weight", None, 0, 2),
        (f"{mlp}.up_proj.bias", f"{mlp}.gate_up_proj.bias", None, 1, 2), (f"{mlp}.down_proj.weight", f"{mlp}.down_proj.weight", None, 0, 1),
        (f"{mlp}.gate.weight", f"{mlp}.gate.weight", None, 0, 1), (f"{moe}.0.gate_proj.weight", f"{moe}.gate_up_proj", 0, 0, 2),
        (f"{moe}.11.up_proj.weight", f"{moe}.gate_up_proj", 11, 1, 2), (f"{moe}.127.down_proj.weight", f"{moe}.down_proj", 127, 0, 1),
        ("lm_head.weight", "lm_head.weight", None, 0, 1), ("model.embed_tokens.weight", "model.embed_tokens.weight", None, 0, 1),
        ("q_proj.weight", "qkv_proj.weight", None, 0, 3), ("model.norm.weight", "model.norm.weight", None, 0, 1),
    ]  # fmt: skip
    got = tree.run(slots, names=[row[0] for row in rows])
    want = [list(row[1:]) for row in rows]
    swapped = [[w[0], w[1], 1 - w[2] if w[3] == 2 else w[2], w[3]] for w in want]
    for (name, *_), mine, right, other in zip(rows, got, want, swapped, strict=True):
        if mine != right:
            mistake = "gate-up-swapped" if got == swapped and mine == other else None
            lines = [f"of {name}:", f"want {right}", f"got  {mine}"]
            raise expect.Mismatch("mistake" if mistake else "mismatch", "a slot (target, expert, place, places) is not right", lines, mistake)


def test_plan(tree):
    """plan_weights: groups in the order of their first tensors, parts in the order of experts and places"""
    a, m = "model.layers.0.self_attn", "model.layers.1.mlp"
    order = [
        ["model.norm.weight", [6]], [f"{a}.v_proj.weight", [4, 6]], [f"{m}.experts.10.up_proj.weight", [4, 6]], [f"{a}.rotary_emb.inv_freq", [4]],
        [f"{a}.q_proj.weight", [8, 6]], ["lm_head.weight", [9, 6]], [f"{a}.k_proj.weight", [4, 6]],
    ]  # fmt: skip
    order += [[f"{m}.experts.{i}.up_proj.weight", [4, 6]] for i in (2, 0, 9, 1, 3, 8, 4, 7, 5, 6)]
    order += [[f"{m}.experts.{i}.gate_proj.weight", [4, 6]] for i in (10, 5, 0, 1, 2, 3, 4, 9, 8, 7, 6)]
    experts = [[f"{m}.experts.{i}.{p}_proj.weight", f"{m}.experts.gate_up_proj", i, k, 2] for i in range(11) for k, p in enumerate(("gate", "up"))]
    want = [
        ["model.norm.weight", [["model.norm.weight", "model.norm.weight", None, 0, 1]]],
        [f"{a}.qkv_proj.weight", [[f"{a}.{p}_proj.weight", f"{a}.qkv_proj.weight", None, i, 3] for i, p in enumerate("qkv")]],
        [f"{m}.experts.gate_up_proj", experts],
        ["lm_head.weight", [["lm_head.weight", "lm_head.weight", None, 0, 1]]],
    ]
    (got,) = tree.run(plans, cases=[order])
    expect.that("raised" not in got, f"plan_weights raises {got.get('raised')}", [str(got.get("text"))[:120]])
    targets = [target for target, _ in got["groups"]]
    inv_freq = any(str(target).endswith("inv_freq") for target in targets)
    expect.that(not inv_freq, "rotary_emb.inv_freq is planned as a weight", mistake="inv-freq-loaded")
    expect.equal(targets, [target for target, _ in want], "the order of the groups")
    place = {name: i for i, (name, _) in enumerate(order)}
    by_file = [[target, sorted(parts, key=lambda p: place[p[0]])] for target, parts in want]
    by_text = [[target, sorted(parts, key=lambda p: (str(p[2] or 0), p[3]))] for target, parts in want]
    suspects = {"parts-in-file-order": by_file, "experts-in-string-order": by_text}
    mistake = next((name for name, other in suspects.items() if other == got["groups"]), None)
    for (target, mine), (_, right) in zip(got["groups"], want, strict=True):
        if mine != right:
            names = [[part[0].removeprefix("model.layers.") for part in parts][:6] for parts in (right, mine)]
            lines = [f"want {', '.join(names[0])}", f"got  {', '.join(names[1])}"]
            raise expect.Mismatch("mistake" if mistake else "mismatch", f"the parts of {target} are not right", lines, mistake)
    expect.that(got["unchanged"], "plan_weights changes the list that it is given")


def test_merged_weights(tree, rng):
    """q, k, v and gate, up come as one weight each, rows below rows; the rest as it is"""
    equal = layer(rng, q=6, kv=6, bias=True) | {"model.norm.weight": numbers(rng, 6)}
    ragged = layer(rng, "model.layers.4.", bias=True) | {"model.embed_tokens.weight": numbers(rng, 9, 6), "lm_head.weight": numbers(rng, 9, 6)}
    for answer, arrays in zip(tree.run(loads, cases=[one_file(equal), one_file(ragged)]), (equal, ragged), strict=True):
        suspects = {m: merge(arrays, m) for m in ("parts-in-file-order", "gate-up-swapped")}
        if arrays is equal:
            matrices = {name: array for name, array in arrays.items() if array.ndim == 2}
            suspects["concatenated-along-columns"] = merge(matrices, "concatenated-along-columns")
        weights_of(answer, merge(arrays), suspects)


def test_experts(tree, rng):
    """The experts of a layer come stacked in the order of their numbers: [experts, rows, columns]"""
    arrays = moe_layer(rng) | layer(rng)
    suspects = {m: merge(arrays, m) for m in ("experts-in-string-order", "gate-up-swapped", "parts-in-file-order")}
    (answer,) = tree.run(loads, cases=[one_file(dict(sorted(arrays.items())))])
    weights_of(answer, merge(arrays), suspects)


def test_any_split_over_files(tree, seeds):
    """A weight's parts may lie in any order and in different files"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        arrays = layer(rng, bias=True) | moe_layer(rng, experts=11) | {"model.embed_tokens.weight": numbers(rng, 7, 6)}
        names = rng.permutation(list(arrays)).tolist()
        files = {f"model-0000{i + 1}-of-00003.safetensors": [[n, "float32", arrays[n]] for n in names[i::3]] for i in range(3)}
        whole = one_file({n: arrays[n] for n in names})
        alone, split = tree.run(loads, cases=[whole, {"files": files, "index": True}])
        weights_of(alone, merge(arrays), {"parts-in-file-order": merge({n: arrays[n] for n in names}, "parts-in-file-order")})
        want = merge(arrays)
        came = {n for n, _ in split.get("weights", [])}
        refused = split.get("raised") in ("ValueError", "AssertionError", "KeyError", "RuntimeError")
        expect.that(
            not refused and not came < set(want), "a weight whose parts lie in different files does not come",
            [str(split.get("text", f"missing: {sorted(set(want) - came)[:2]}"))[:150]], mistake="groups-split-over-files",
        )  # fmt: skip
        weights_of(split, want)


def test_dtypes_and_device(tree, rng):
    """Each weight keeps the dtype of its file; it comes on the device that was asked for; inv_freq is left out"""
    arrays = layer(rng) | {"model.layers.0.self_attn.rotary_emb.inv_freq": numbers(rng, 4), "model.norm.weight": numbers(rng, 6)}
    dtypes = {n: "float32" if "norm" in n else "float16" if "o_proj" in n else "float64" if "down" in n else "bfloat16" for n in arrays}
    case = {"files": {"model.safetensors": [[n, dtypes[n], a] for n, a in arrays.items()]}}
    on_cpu, on_meta = tree.run(loads, cases=[case, case | {"device": "meta"}])
    want = merge({n: a for n, a in arrays.items() if "inv_freq" not in n})
    got = {n: getattr(w, "torch_dtype", "") for n, w in on_cpu.get("weights", [])}
    upcast = bool(got) and set(got.values()) == {"float32"} and set(got) >= set(want)
    expect.that(not upcast, "all weights come as float32", ["the file has bfloat16, float16, float32 and float64"], mistake="cast-to-float32")
    weights_of(on_cpu, want, exact_dtype={n: dtypes.get(n, "bfloat16") for n in want})
    expect.that("raised" not in on_meta, f"load_weight(path, 'meta') raises {on_meta.get('raised')}", [str(on_meta.get("text"))[:120]])
    expect.that(set(on_meta["devices"]) == {"meta"}, "the weights are not on the device that was asked for", mistake="device-ignored")


def test_broken_checkpoints(tree, rng):
    """A missing part or expert and a name that occurs twice are refused, and the error names the weight"""
    good = [[name, list(array.shape)] for name, array in (layer(rng) | moe_layer(rng, experts=4)).items()]
    without = lambda *texts: [row for row in good if not any(text in row[0] for text in texts)]  # noqa: E731
    rows = [
        ("no v_proj", "self_attn", without("v_proj")),
        ("no q_proj and no k_proj", "self_attn", without("q_proj", "k_proj")),
        ("no gate_proj in the dense layer", "layers.0.mlp", without("layers.0.mlp.gate_proj")),
        ("no expert 1 at all", "experts", without("experts.1.")),
        ("expert 2 without up_proj", "experts", without("experts.2.up_proj")),
        ("expert 0 without down_proj", "experts", without("experts.0.down_proj")),
        ("the last expert without gate_proj", "experts", without("experts.3.gate_proj")),
        ("a bias for k and v only", "self_attn", [*good, *([f"model.layers.0.self_attn.{p}_proj.bias", [4]] for p in "kv")]),
    ]
    again = lambda text: [*good, next(row for row in good if text in row[0])]  # noqa: E731
    twice = [("o_proj twice", "o_proj", again("o_proj")), ("k_proj twice", "self_attn", again("k_proj"))]
    got = tree.run(plans, cases=[good, *[case for *_, case in rows + twice]])
    expect.that("raised" not in got[0], f"plan_weights raises {got[0].get('raised')} for a complete checkpoint", [str(got[0].get("text"))[:120]])
    count = len(rows)
    silent = all("raised" not in g for g in got[1 : count + 1])
    doubled = all("raised" not in g for g in got[count + 1 :])
    for (what, name, _), answer in zip(rows, got[1 : count + 1], strict=True):
        expect.raised(answer, "ValueError", mentions=name, what=what, mistake="missing-part-accepted" if silent else None)
    for (what, name, _), answer in zip(twice, got[count + 1 :], strict=True):
        expect.raised(answer, "ValueError", mentions=name, what=what, mistake="last-of-two-wins" if doubled else None)


def test_parts_that_do_not_fit(tree, rng):
    """read_weight fills one tensor, and refuses parts of different dtypes or widths"""
    q, k, v = numbers(rng, 8, 6), numbers(rng, 4, 6), numbers(rng, 4, 6)
    name = lambda part: f"model.layers.0.self_attn.{part}_proj.weight"  # noqa: E731
    expert = lambda i, part: f"model.layers.0.mlp.experts.{i}.{part}_proj.weight"  # noqa: E731
    experts = [[expert(i, p), "float32", numbers(rng, 3, 6)] for i in (1, 0) for p in ("up", "gate")]
    uneven = [[n, d, a if i else numbers(rng, 5, 6)] for i, (n, d, a) in enumerate(experts)]
    groups = [
        [[name("k"), "bfloat16", k], [name("v"), "bfloat16", v], [name("q"), "bfloat16", q]],
        experts,
        [["model.norm.weight", "float32", numbers(rng, 5)]],
        [[name("q"), "float32", q], [name("k"), "bfloat16", k], [name("v"), "float32", v]],
        [[name("q"), "float32", q], [name("k"), "float32", numbers(rng, 4, 5)], [name("v"), "float32", v]],
        uneven,
    ]
    got = tree.run(read_groups, groups=groups)
    for answer, group in zip(got[:3], groups[:3], strict=True):
        arrays = {n: a for n, _, a in group}
        ((target, want),) = merge(arrays).items()
        expect.that("raised" not in answer, f"read_weight raises {answer.get('raised')}", [str(answer.get("text"))[:150]])
        expect.close(answer["weight"], want, atol=0, name=target, dtype=group[0][1])
    silent = "misfits-accepted" if "raised" not in got[3] else None
    expect.raised(got[3], "ValueError", mentions="self_attn", what="a k_proj of another dtype", mistake=silent)
    expect.raised(got[4], "ValueError", mentions="self_attn", what="a k_proj of another width")
    expect.raised(got[5], "ValueError", mentions="experts", what="an expert of another size")


def test_one_rank_of_several(tree, rng):
    """With tensor parallelism each rank gets its part of q, of k and of v, and of everything else"""
    arrays = layer(rng, q=16, kv=4, hidden=8, wide=12, bias=True) | moe_layer(rng, experts=3, hidden=8)
    arrays |= {f"{name}.weight": numbers(rng, 7, 8) for name in ("model.embed_tokens", "lm_head")}
    arrays["model.layers.0.self_attn.o_proj.bias"] = numbers(rng, 8)
    ranks = [(0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4)]
    got = tree.run(loads, cases=[one_file(arrays, tp=list(tp), kv_heads=2) for tp in ranks])
    whole = merge(arrays)
    for (rank, size), answer in zip(ranks, got, strict=True):
        want = merge({n: shard(n, a, rank, size, 2) for n, a in arrays.items()})
        later = dict(want)
        for name, array in whole.items():
            if "gate_up" in name or ("qkv" in name and size == 2):
                later[name] = np.split(array, size, axis=array.ndim - 2 if array.ndim > 1 else 0)[rank]
        weights_of(answer, want, {"sharded-after-merging": later, "every-rank-loads-all": whole})


def test_memory(tree):
    """One weight at a time: nothing is read ahead, nothing is kept, and loading a model takes little more than the model"""
    got = tree.run(watch_memory, layers=10, side=384)
    rows, total, largest, python_peak = got["rows"], got["total"], got["largest"], got["python peak"]
    expect.that(got["count"] == len(rows) == 40, f"{len(rows)} weights came; want 40")
    mb = lambda size: f"{size / 1e6:.1f} MB"  # noqa: E731
    lines = [f"the weights: {mb(total)}, the largest one {mb(largest)}"]
    first = max(rows[0]["alive"], rows[0]["python"])
    told = [*lines, f"in memory besides the first weight, when it comes: {mb(first)}"]
    all_first = rows[0]["alive"] > 0.5 * total
    expect.that(not all_first, "all weights are in memory before the first one comes", told, mistake="everything-before-the-first-yield")
    read = python_peak > 0.5 * total
    told = [*lines, f"Python held {mb(python_peak)} at once"]
    expect.that(not read, "whole files are held in memory", told, mistake="whole-file-read")
    sizes = [row["size"] for row in rows]
    alive = [row["alive"] for row in rows]
    told = [*lines, f"tensors that the generator keeps at the yields: {', '.join(mb(a) for a in alive[:5])}, …"]
    last = alive == sizes
    expect.that(not last, "the generator keeps the weight that it has just given away", told, mistake="last-weight-kept")
    expect.that(max(alive) < 0.05 * largest, "the generator keeps tensors between two yields", told)
    held = max(row["python"] for row in rows)
    expect.that(held < 0.5 * largest, "the generator keeps weights between two yields", [*lines, f"Python holds {mb(held)}"])
    told = [*lines, f"the process grew by up to {mb(got['peak'])}, {got['peak'] / total:.2f} times the weights; at most 1.30 are allowed"]
    expect.that(got["peak"] <= 1.3 * total, "loading takes too much memory", told, mistake="file-stays-mapped")
