"""Exercise 194: one interface for CPU and GPU.

No GPU is needed: the probes put stand-ins in the places where PyTorch would ask one.
"""

import math

import numpy as np

from judge import expect

# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def picked(cases):
    """pick_device(name, rank) on machines with a given number of GPUs; rank None stands for the default."""
    import torch

    from minisgl.utils.device import pick_device

    answers = []
    for name, rank, gpus in cases:
        torch.cuda.is_available, torch.cuda.device_count = (lambda n=gpus: n > 0), (lambda n=gpus: n)
        try:
            device = pick_device(name) if rank is None else pick_device(name, rank)
            answers.append({"device": str(device), "type": type(device).__name__})
        except NotImplementedError:
            raise
        except Exception as error:
            answers.append({"raised": type(error).__name__, "text": str(error)})
    return answers


def on_the_cpu(cases):
    """to_device on the CPU: the tensor, and whether the list was left alone."""
    import torch

    from minisgl.utils.device import to_device

    answers = []
    for values, dtype in cases:
        before = list(values)
        tensor = to_device(values, getattr(torch, dtype), torch.device("cpu"))
        other = to_device(tuple(values), getattr(torch, dtype), torch.device("cpu"))
        row = {"tensor": tensor, "kept": values == before, "type": type(tensor).__name__}
        if isinstance(tensor, torch.Tensor):
            row["device"], row["pinned"] = str(tensor.device), bool(tensor.is_pinned()) if torch.cuda.is_available() else False
            row["same from a tuple"] = isinstance(other, torch.Tensor) and bool(torch.equal(tensor, other))
            row["apart"] = tensor.numel() == 0 or tensor.data_ptr() != other.data_ptr()
        answers.append(row)
    return answers


def on_a_gpu(values, dtype, index):
    """to_device to a GPU that does not exist: what is asked of PyTorch on the way, and the numbers that arrive."""
    import torch
    from torch.overrides import TorchFunctionMode

    from minisgl.utils.device import to_device

    torch.cuda.is_available = lambda: True
    notes = {"pinned": False, "copies": [], "devices": [], "other": [], "waits": []}
    pinned, there = [], []  # tensors that are meant to be in pinned memory, and on the GPU

    def is_gpu(value):
        return isinstance(value, (torch.device, str)) and str(value).startswith("cuda")

    class Stage(TorchFunctionMode):
        def __torch_function__(self, function, kinds, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            name = getattr(function, "__name__", str(function))
            if function is torch.device:
                return function(*args, **kwargs)
            if name == "pin_memory":
                pinned.append(args[0])
                return args[0]
            pin = kwargs.pop("pin_memory", False)
            if name in ("synchronize", "item", "tolist"):
                notes["waits"].append(name)
            gpus = [v for v in (*args, *kwargs.values()) if is_gpu(v)]
            if name in ("to", "cuda", "copy_"):
                source = args[1] if name == "copy_" else args[0]
                if gpus or name == "cuda" or (name == "copy_" and any(args[0] is t for t in there)):
                    flag = bool(kwargs.get("non_blocking") or any(v is True for v in args[1:]))
                    notes["copies"].append("does not wait" if flag else "waits")
                    notes["devices"] += [str(v) for v in gpus]
                    notes["pinned"] = notes["pinned"] or any(source is p for p in pinned)
                    dtypes = [v for v in (*args, *kwargs.values()) if isinstance(v, torch.dtype)]
                    if name == "copy_":
                        return function(args[0], source)
                    return source.to(dtypes[0]) if dtypes else source
            elif gpus:
                notes["other"].append(name)
                notes["devices"] += [str(v) for v in gpus]
                kwargs = {key: v for key, v in kwargs.items() if not is_gpu(v)}
                args = tuple(v for v in args if not is_gpu(v))
            out = function(*args, **kwargs)
            if gpus:
                there.append(out)
            if pin:
                pinned.append(out)
            return out

    device = torch.device("cuda", index)
    with Stage():
        out = to_device(values, getattr(torch, dtype), device)
    return notes | {"out": out}


def streams():
    """stream_ctx with a NullStream, and with a stand-in for a stream of a GPU."""
    import torch

    from minisgl.utils.device import NullStream, stream_ctx

    notes = {"log": []}

    class Context:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            notes["log"].append("enter" if self.stream is gpu else "enter another")

        def __exit__(self, *error):
            notes["log"].append("exit" if error[0] is None else f"exit on {error[0].__name__}")

    class FakeStream(torch.cuda.Stream):
        def __new__(cls):
            return object.__new__(cls)

        def __init__(self):
            pass

    made = []
    torch.cuda.stream = lambda stream: made.append(stream) or Context(stream)
    torch.cuda.StreamContext = torch.cuda.stream
    torch.cuda.set_stream = lambda stream: notes["log"].append("set_stream")
    torch.cuda.current_stream = lambda *args: "the stream before"
    gpu = FakeStream()
    null = NullStream()
    for _ in range(2):
        with stream_ctx(null):
            notes["log"].append("work")
    notes["null"], notes["log"] = [*notes["log"], len(made)], []
    try:
        with stream_ctx(null):
            raise KeyError("from the work")
    except KeyError:
        notes["null error"] = "comes through"
    else:
        notes["null error"] = "is swallowed"
    context = stream_ctx(gpu)
    notes["log"].append("made")
    with context:
        notes["log"].append("work")
    try:
        with stream_ctx(gpu):
            raise KeyError("from the work")
    except KeyError:
        notes["log"].append("comes through")
    return notes


def cores(cases, folders):
    """count_physical_cores for some affinity masks, on machines that are written down as folders."""
    import os
    from pathlib import Path

    from minisgl.utils.device import count_physical_cores

    for name, cpus in folders.items():
        for cpu, files in cpus.items():
            folder = Path(name) / f"cpu{cpu}" / "topology"
            folder.mkdir(parents=True)
            for file, text in files.items():
                (folder / file).write_text(text + "\n")
        for extra in ("cpufreq", "cpuidle"):
            (Path(name) / extra).mkdir(parents=True, exist_ok=True)
    answers = []
    for name, mask in cases:
        os.sched_getaffinity = lambda pid, mask=mask: set(mask)
        answers.append(count_physical_cores(Path(name)))
    return {"cores": answers, "types": sorted({type(n).__name__ for n in answers})}


def cores_elsewhere(cases):
    """count_physical_cores where the system has no affinity masks: psutil and os answer."""
    import os
    from pathlib import Path

    import psutil

    from minisgl.utils.device import count_physical_cores

    del os.sched_getaffinity
    answers = []
    for physical, logical in cases:
        psutil.cpu_count = lambda logical=True, physical=physical, all_=logical: all_ if logical else physical
        os.cpu_count = lambda logical=logical: logical
        answers.append(count_physical_cores(Path("nowhere")))
    return answers


def threads(cases):
    """num_cpu_threads for some machines; null as a quota stands for infinity."""
    from minisgl.utils.device import num_cpu_threads

    answers = [num_cpu_threads(cores, float("inf") if quota is None else quota, ranks) for cores, quota, ranks in cases]
    return {"threads": answers, "types": sorted({type(n).__name__ for n in answers})}


# ---- inputs and expectations -------------------------------------------------------------------------------------


def machine(pairs, core_ids, written="{0},{1}"):
    """CPU -> files of its topology folder, for a machine whose cores have the hardware threads in `pairs`."""
    cpus = {}
    for core, threads_of_it in zip(core_ids, pairs, strict=True):
        text = written.format(*threads_of_it) if len(threads_of_it) == 2 else str(threads_of_it[0])
        for cpu in threads_of_it:
            cpus[str(cpu)] = {"thread_siblings_list": text, "core_id": str(core), "physical_package_id": "0"}
    return cpus


FOLDERS = {
    "desktop": machine([(0, 4), (1, 5), (2, 6), (3, 7)], [0, 1, 2, 3]),
    "cloud": machine([(0, 1), (2, 3), (4, 5)], [0, 1, 2], "{0}-{1}"),
    "sockets": machine([(0, 4), (1, 5), (2, 6), (3, 7)], [0, 1, 0, 1]),  # core ids begin anew in each socket
    "hybrid": machine([(0, 1), (2, 3), (4,), (5,), (10,)], [0, 1, 2, 3, 4]),
    "bare": {},
}
MASKS = [
    ("desktop", [0, 1, 2, 3, 4, 5, 6, 7], 4), ("desktop", [0, 4], 1), ("desktop", [0, 1, 6], 3), ("desktop", [3, 7, 6], 2), ("cloud", [0, 1, 2, 3, 4, 5], 3),
    ("cloud", [1, 3], 2), ("sockets", list(range(8)), 4), ("hybrid", [0, 1, 2, 3, 4, 5, 10], 5), ("hybrid", [1, 10, 5], 3), ("bare", [0, 1, 5], 3),
]  # fmt: skip


# ---- tests -------------------------------------------------------------------------------------------------------


def test_pick_device(tree):
    """auto is a GPU if there is one; cuda and auto take the GPU of the rank; a name with an index is taken as it is"""
    cases = [
        ("auto", None, 0), ("auto", 3, 0), ("cpu", 2, 4), ("auto", None, 2), ("auto", 1, 2), ("cuda", 3, 4), ("cuda", None, 1), ("cuda:1", 0, 4),
        ("cuda:0", 3, 4), ("cpu:0", 1, 2),
    ]  # fmt: skip
    want = ["cpu", "cpu", "cpu", "cuda:0", "cuda:1", "cuda:3", "cuda:0", "cuda:1", "cuda:0", "cpu"]
    got = tree.run(picked, cases=cases)
    for row, (name, rank, gpus) in zip(got, cases, strict=True):
        if "raised" in row:
            expect.that(False, f"pick_device({name!r}, {rank}) on a machine with {gpus} GPUs raises {row['raised']}", [row["text"][:80]])
        expect.that(row["type"] == "device", f"pick_device returns a {row['type']}; a torch.device is wanted", kind="type")
    devices = [row["device"] for row in got]
    suspects = {
        "rank-ignored": lambda d: d[3] == d[4] == "cuda:0" and d[5] == "cuda:0",
        "no-index": lambda d: d[3] == d[4] == d[5] == "cuda",
        "rank-over-the-index": lambda d: d[7] == "cuda:0" and d[8] == "cuda:3" and d[5] == "cuda:3",
        "auto-is-the-cpu": lambda d: d[3] == d[4] == "cpu",
        "cpu-with-an-index": lambda d: d[:9] == want[:9] and d[9] == "cpu:0",
    }
    expect.equal(devices, want, "the devices for ten names, ranks and machines", suspects=suspects)


def test_devices_that_are_not_there(tree):
    """ValueError, naming the device: for a GPU that is not there, for words that are none, for kinds that the engine does not know"""
    cases = [
        ("cuda", None, 0), ("cuda", 2, 2), ("cuda:5", 0, 4), ("auto", 4, 4), ("gpu", 0, 2), ("tpu-9", 0, 0), ("", 0, 0), ("cuda:x", 0, 2), ("meta", 0, 1),
        ("mps", 0, 1), ("xpu:0", 0, 1),
    ]  # fmt: skip
    for (name, rank, gpus), row in zip(cases, tree.run(picked, cases=cases), strict=True):
        what = f"{name!r} (rank {rank}, {gpus} GPUs)"
        mistake = None
        if "device" in row:
            mistake = "missing-gpu-accepted" if "cuda" in name or name == "auto" else "other-kinds-accepted"
        elif row["raised"] == "RuntimeError":
            mistake = "error-of-pytorch-comes-through"
        expect.raised(row, "ValueError", mentions="cuda" if "cuda" in name or name == "auto" else name, what=what, mistake=mistake)


def test_to_device_on_a_cpu(tree):
    """to_device makes a 1-D tensor of the numbers, in the dtype asked for, on the CPU"""
    cases = [([3, -1, 2**31 - 1], "int32"), ([0.5, 1.25], "float32"), ([], "int64"), ([7], "int64"), ([1, 2, 3], "float32"), ([2**53 + 1], "int64"), ([0.1], "float64")]
    for (values, dtype), row in zip(cases, tree.run(on_the_cpu, cases=cases), strict=True):
        name = f"to_device({values}, torch.{dtype})"
        expect.is_tensor(row["tensor"], name, shape=(len(values),))
        expect.is_tensor(row["tensor"], name, dtype=dtype)
        expect.equal(row["tensor"].tolist(), np.asarray(values, row["tensor"].dtype).tolist(), f"the numbers of {name}")
        expect.that(row["device"] == "cpu" and row["kept"] and row["same from a tuple"] and row["apart"], f"{name} is not a tensor of its own on the CPU")


def test_to_device_on_a_gpu(tree):
    """On its way to a GPU the tensor lies in pinned memory, and the copy does not make the host wait"""
    got = tree.run(on_a_gpu, values=[5, 6, 70], dtype="int32", index=1)
    asked = got["other"] + got["copies"]
    expect.that(bool(asked), "nothing is copied to the GPU", mistake="never-on-the-gpu")
    expect.that(set(got["devices"]) <= {"cuda:1"}, f"the copy goes to {', '.join(sorted(set(got['devices'])))}; want cuda:1")
    expect.that(not got["waits"], "the host waits", got["waits"])
    straight = not got["copies"]
    expect.that(not straight, "the tensor is made on the GPU directly: that copy makes the host wait", mistake="copied-from-ordinary-memory")
    expect.that(got["pinned"], "the numbers do not lie in pinned memory before the copy", mistake="copied-from-ordinary-memory")
    expect.that("waits" not in got["copies"], "the copy is not told non_blocking, so the host waits", mistake="copy-makes-the-host-wait")
    expect.equal(np.asarray(expect.is_tensor(got["out"], "the tensor", shape=(3,), dtype="int32")).tolist(), [5, 6, 70], "the numbers that arrive")


def test_stream_ctx(tree):
    """stream_ctx of a NullStream changes nothing, that of a GPU's stream is entered and left around the block; errors come through"""
    got = tree.run(streams)
    expect.equal(got["null"], ["work", "work", 0], "what happens with a NullStream, and how often PyTorch was asked for a stream")
    expect.equal(got["null error"], "comes through", "an error inside the block of a NullStream")
    want = ["made", "enter", "work", "exit", "enter", "exit on KeyError", "comes through"]
    suspects = {
        "null-for-every-stream": ["made", "work", "comes through"],
        "stream-set-for-good": lambda log: "set_stream" in log,
        "entered-too-early": lambda log: log[:2] == ["enter", "made"],
    }
    expect.equal(got["log"], want, "what happens with a stream of a GPU", suspects=suspects)


def test_physical_cores(tree):
    """Physical cores are counted once each, and only those on which this process may run"""
    got = tree.run(cores, cases=[(name, mask) for name, mask, _ in MASKS], folders=FOLDERS)
    want = [count for _, _, count in MASKS]
    by_id = [len({FOLDERS[name].get(str(cpu), {"core_id": f"x{cpu}"})["core_id"] for cpu in mask}) for name, mask, _ in MASKS]
    everything = [len({files["thread_siblings_list"] for files in FOLDERS[name].values()}) or 1 for name, _, _ in MASKS]
    suspects = {
        "hardware-threads-counted": [len(mask) for _, mask, _ in MASKS],
        "threads-halved": [max(1, len(mask) // 2) for _, mask, _ in MASKS],
        "core-ids-counted": by_id,
        "whole-machine-counted": lambda counts: counts[:4] == [4] * 4 or counts[:9] == everything[:9],
    }
    expect.equal(got["cores"], want, "the physical cores of ten machines and affinity masks", suspects=suspects)
    expect.that(got["types"] == ["int"], f"the count is a {', '.join(got['types'])}; an int is wanted", kind="type")


def test_physical_cores_elsewhere(tree):
    """Where there are no affinity masks, the system's own count of cores is the answer, and never less than 1"""
    cases = [(4, 8), (6, 6), (None, 8), (None, None), (1, 2)]
    got = tree.run(cores_elsewhere, cases=cases)
    expect.that(got[:2] == [4, 6] and got[4] == 1, f"psutil knows 4, 6 and 1 physical cores, and the answers are {got[0]}, {got[1]} and {got[4]}",
                mistake="hardware-threads-counted" if got[0] == 8 else None)  # fmt: skip
    expect.that(all(isinstance(n, int) and n >= 1 for n in got), f"where nobody knows, the answer is {got[2:4]}; want at least 1")


def test_threads_of_a_rank(tree, seed):
    """Threads are the smaller of cores and quota, whole, shared by the ranks, and at least 1"""
    rng = np.random.default_rng(seed)
    cases = [(8, None, 1), (8, 4.0, 1), (8, 3.9, 1), (16, 7.5, 2), (4, 0.5, 1), (2, None, 4), (9, None, 2), (1, 64.0, 1), (64, 32.0, 3), (8, 2.0, 4), (12, None, 4)]
    cases += [(int(rng.integers(1, 129)), None if rng.random() < 0.4 else float(rng.integers(1, 512)) / 4, int(rng.integers(1, 9))) for _ in range(20)]
    got = tree.run(threads, cases=cases)
    quota = [math.inf if q is None else q for _, q, _ in cases]
    want = [max(1, int(min(c, q)) // n) for (c, _, n), q in zip(cases, quota, strict=True)]
    suspects = {
        "quota-ignored": [max(1, c // n) for c, _, n in cases],
        "ranks-ignored": [max(1, int(min(c, q))) for (c, _, _), q in zip(cases, quota, strict=True)],
        "rounded-up": [max(1, math.ceil(min(c, q) / n)) for (c, _, n), q in zip(cases, quota, strict=True)],
        "zero-threads": [int(min(c, q)) // n for (c, _, n), q in zip(cases, quota, strict=True)],
        "quota-not-shared": [max(1, int(min(c // n, q))) for (c, _, n), q in zip(cases, quota, strict=True)],
    }
    expect.equal(got["threads"], want, "the threads for (cores, quota, ranks)", suspects=suspects)
    expect.that(got["types"] == ["int"], f"num_cpu_threads returns a {', '.join(got['types'])}; an int is wanted", kind="type")
