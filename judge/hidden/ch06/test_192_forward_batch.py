"""Exercise 192: forward_batch, one step in which the host does not wait."""

import numpy as np

from judge import expect, questions

PROMPTS = [[5, 17, 300, 42, 9], [7], [100, 101, 102, 103, 104, 105, 106, 107, 108]]
STEPS = 4


# ---- probes: run next to the learner's code ----------------------------------------------------------------------
# Each makes a real engine on a tiny checkpoint (its config.json is read without transformers, which takes seconds).


def some_steps(model, prompts, steps, ways):
    """Greedy steps of all prompts in one batch, once for each way: "plain", or "graphs" with a stand-in for the graph
    runner that pads decode batches to four requests and replays them.

    Notes lengths and outputs of each step, how often was replayed and run, and what was active meanwhile.
    """
    import json
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams, get_global_ctx
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine, ForwardOutput
    from minisgl.utils.device import NullEvent

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    recorded = []
    NullEvent.record = lambda self, stream=None: recorded.append(self)

    def is_free(ctx):
        try:
            return ctx.batch is None
        except RuntimeError:
            return True

    def held(batch):
        tensors = {name: getattr(batch, name).tolist() for name in ("input_ids", "positions", "out_loc")}
        return tensors | {"phase": batch.phase, "reqs": list(batch.reqs), "padded_reqs": list(batch.padded_reqs)}

    def drive(way):
        engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=4, num_page_override=128,
                                     max_seq_len_override=64))  # fmt: skip
        reqs = []
        for i, ids in enumerate(prompts):
            row, total = [2, 0, 3][i], len(ids) + steps
            engine.page_table[row, :total] = (torch.arange(total, dtype=torch.int32) * 7 + 37 * i) % 128
            reqs.append(Req(torch.tensor(ids, dtype=torch.int32), row, 0, steps, i, SamplingParams()))
        seen = {"replayed": [], "run": []}
        forward, dummy = engine.model.forward, engine.dummy_req

        def watched_forward():
            seen["run"].append(get_global_ctx().batch.size)
            return forward()

        class Runner:
            sizes, max_size = [4], 4

            def pad_batch(self, batch):
                batch.padded_reqs = batch.reqs + [dummy] * (4 - batch.size if batch.is_decode else 0)

            def can_use_cuda_graph(self, batch):
                return batch.is_decode

            def replay(self, batch):
                seen["replayed"].append(batch)
                with engine.ctx.forward_batch(batch):
                    return forward()[: batch.size]

            def destroy_cuda_graphs(self):
                pass

        engine.model.forward = watched_forward
        if way == "graphs":
            engine.graph_runner = Runner()
        else:

            def refuse(batch):
                raise RuntimeError("nothing is captured: can_use_cuda_graph says False")

            engine.graph_runner.replay = refuse
        dummy_before, rows = [dummy.cached_len, dummy.device_len], []
        for step in range(steps):
            batch = Batch(reqs, "prefill" if step == 0 else "decode")
            args = engine.prepare_batch(batch)
            before, given = [[r.cached_len, r.device_len] for r in reqs], held(batch)
            replays, runs = len(seen["replayed"]), len(seen["run"])
            try:
                out = engine.forward_batch(batch, args)
            except RuntimeError as error:
                if isinstance(error, NotImplementedError) or not any(w in str(error) for w in ("active already", "uid=-1", "nothing is captured")):
                    raise
                rows.append({"type": "RuntimeError", "refused": str(error)})
                break
            row = {"type": type(out).__name__, "is output": isinstance(out, ForwardOutput)}
            if not isinstance(out, tuple) or len(out) != 3:
                rows.append(row)
                break
            out = ForwardOutput(*out)
            event = out.copy_done_event
            row["recorded"] = any(event is other for other in recorded)
            event.synchronize()
            row |= {"gpu": out.next_tokens_gpu, "cpu": out.next_tokens_cpu, "before": before, "free": is_free(engine.ctx)}
            row["after"] = [[r.cached_len, r.device_len] for r in reqs]
            row["replays"], row["runs"] = len(seen["replayed"]) - replays, len(seen["run"]) - runs
            row["right batch"] = all(other is batch for other in seen["replayed"][replays:])
            row["dummy"] = [dummy.cached_len, dummy.device_len] == dummy_before
            row["host tokens"] = [len(r.input_ids) for r in reqs]
            row["changed"] = [name for name, value in held(batch).items() if value != given[name]]
            rows.append(row)
            if row["after"] != [[device, device + 1] for _, device in before] or not row["dummy"]:
                break
            for req, token in zip(reqs, out.next_tokens_cpu.tolist()):
                if len(req.input_ids) < req.device_len:
                    req.append_host(token)
        engine.shutdown()
        return {"rows": rows, "active": seen["run"]}

    return {way: drive(way) for way in ways}


def given_logits(model, logits, params, padding, poisons=("",)):
    """One step with a fake graph runner that can replay or not, and logits of our own, one row per *padded* request.

    The sampler notes what it was given. Each of `poisons` names who raises: "model", "sampler" or nobody ("").
    """
    import json
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Context, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine, ForwardOutput

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=4, num_page_override=16,
                                 max_seq_len_override=32))  # fmt: skip
    answers, sampler, prepare = [], engine.sampler, engine.prepare_batch
    engine.page_table[:] = torch.arange(32, dtype=torch.int32) % 16  # no other rows are needed: the logits are given
    for poison, way in [(poison, way) for poison in poisons for way in ("forward", "replay")]:
        seen, sampled = [], []
        reqs = [Req(torch.arange(4 + i, dtype=torch.int32), i, 3 + i, 2, 70 + i, SamplingParams(**p)) for i, p in enumerate(params)]
        batch = Batch(reqs, "decode")
        batch.padded_reqs = reqs + [engine.dummy_req] * padding
        batch.input_ids = torch.zeros(len(batch.padded_reqs), dtype=torch.int32)
        batch.positions, batch.out_loc = batch.input_ids + 3, batch.input_ids + 16
        engine.attn_backend.prepare_metadata(batch)
        args = engine.sampler.prepare(batch)
        direct = engine.sampler.sample(logits[: len(reqs)].clone(), args)

        def fake_forward(seen=seen, poison=poison):
            seen.append("forward")
            if poison == "model":
                raise ZeroDivisionError("from the model")
            return logits.clone()

        class Runner:  # all that a GraphRunner has; replay gives the rows of batch.reqs alone, as its docstring says
            sizes, max_size = [len(batch.padded_reqs)], len(batch.padded_reqs)

            def pad_batch(self, given, seen=seen, padded=batch.padded_reqs):
                seen.append("pad_batch")
                given.padded_reqs = padded

            def can_use_cuda_graph(self, given, way=way):
                return way == "replay"

            def replay(self, given, seen=seen, batch=batch, poison=poison, way=way):
                seen.append("replay" if given is batch else "replay of another batch")
                with engine.ctx.forward_batch(given):
                    if poison == "model":
                        raise ZeroDivisionError("from the graph")
                return logits[: given.size].clone()

            def destroy_cuda_graphs(self):
                pass

        class Sampler:
            def __getattr__(self, name):
                return getattr(sampler, name)

            def sample(self, rows, given, seen=seen, args=args, poison=poison, sampled=sampled):
                seen.append("sample")
                sampled.append({"shape": list(rows.shape), "its arguments": given is args})
                if poison == "sampler":
                    raise ZeroDivisionError("from the sampler")
                return sampler.sample(rows, given)

        def prepare_again(given, seen=seen):
            seen.append("prepare_batch")
            return prepare(given)

        real, engine.graph_runner, engine.sampler = engine.graph_runner, Runner(), Sampler()
        kept = engine.model.forward
        engine.model.forward, engine.prepare_batch = fake_forward, prepare_again
        row = {"before": [[r.cached_len, r.device_len] for r in reqs]}
        try:
            out = engine.forward_batch(batch, args)
            row["type"] = type(out).__name__
            if isinstance(out, tuple) and len(out) == 3:
                out = ForwardOutput(*out)
                out.copy_done_event.synchronize()
                row |= {"gpu": out.next_tokens_gpu, "cpu": out.next_tokens_cpu}
            row["raised"] = "nothing"
        except NotImplementedError:
            raise
        except ZeroDivisionError as error:
            row["raised"] = str(error)
        except Exception as error:
            row["raised"] = f"{type(error).__name__}: {error}"
        row |= {"after": [[r.cached_len, r.device_len] for r in reqs], "seen": seen, "direct": direct, "way": way}
        row |= {"poison": poison, "sampled": sampled}
        try:
            with engine.ctx.forward_batch(batch):
                row["stuck"] = False
        except RuntimeError:
            row["stuck"] = True
            engine.ctx = Context(1)
        engine.graph_runner, engine.sampler, engine.model.forward, engine.prepare_batch = real, sampler, kept, prepare
        answers.append(row)
    return answers


def two_outputs(model):
    """Two steps one after the other: is the first one's output still what it was after the second?"""
    import json
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine, ForwardOutput

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=4, num_page_override=64,
                                 max_seq_len_override=32))  # fmt: skip
    outputs, copies = [], []
    for uid, ids in enumerate([[3, 4, 5], [300, 17], [9, 8, 7, 6], [450]]):
        engine.page_table[uid, :8] = torch.arange(uid * 8, uid * 8 + 8, dtype=torch.int32)
        batch = Batch([Req(torch.tensor(ids, dtype=torch.int32), uid, len(ids) - 1 if uid == 3 else 0, 2, uid, SamplingParams())], "prefill")
        args = engine.prepare_batch(batch)
        out = engine.forward_batch(batch, args)
        if not isinstance(out, tuple) or len(out) != 3:
            return {"type": type(out).__name__}
        out = ForwardOutput(*out)
        outputs.append(out)
        copies.append(out.next_tokens_cpu.tolist())
    return {"gpu": True, "then": copies, "now": [o.next_tokens_cpu.tolist() for o in outputs], "device": [o.next_tokens_gpu.tolist() for o in outputs],
            "events": len({id(o.copy_done_event) for o in outputs})}  # fmt: skip


def on_a_fake_gpu(model):
    """A step whose logits and tokens behave as if they lay on a GPU. The last row is not finite.

    A copy to the host holds 12345 until somebody waits for an event that was recorded after it. Notes what would make
    the host wait, and reads of a copy that has not arrived.
    """
    import json
    import types
    from pathlib import Path

    import torch

    from minisgl.utils import device as device_module

    waits, early, copies, recorded, side_streams = [], [], [], [], []
    device_module.synchronize = lambda device: waits.append("synchronize()")  # before the engine imports it

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine, ForwardOutput

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=4, num_page_override=64,
                                 max_seq_len_override=32))  # fmt: skip
    asking = {"item", "tolist", "__int__", "__float__", "__bool__", "__index__", "__array__", "numpy", "nonzero", "argwhere", "equal", "unique",
              "__contains__", "allclose", "masked_select", "__repr__", "__format__"}  # fmt: skip
    looking = {"__get__", "__set__", "size", "dim", "ndimension", "numel", "nelement", "__len__", "stride", "is_pinned", "data_ptr", "element_size",
               "is_contiguous", "contiguous", "detach", "view", "reshape", "narrow", "as_subclass", "__hash__", "record_stream", "flatten",
               "squeeze", "unsqueeze", "expand", "is_floating_point", "storage_offset", "requires_grad_"}  # fmt: skip
    plain = torch._C.DisableTorchFunctionSubclass

    gpu = torch.device("cpu", 0)

    class OnTheFakeGPU(torch.overrides.TorchFunctionMode):
        """What is made on the engine's device lies on the fake GPU as well."""

        def __torch_function__(self, function, kinds, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            there = isinstance((kwargs or {}).get("device"), torch.device) and kwargs["device"] == gpu
            return result.as_subclass(Fake) if there and type(result) is torch.Tensor else result

    class Fake(torch.Tensor):
        on_host = False

        @classmethod
        def __torch_function__(cls, function, kinds, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = getattr(function, "__name__", str(function))
            flat = [x for value in (*args, *kwargs.values()) for x in (value if isinstance(value, (list, tuple)) else (value,))]
            fakes = [x for x in flat if isinstance(x, Fake)]
            unblocked = bool(kwargs.get("non_blocking")) or any(x is True for x in args[1:4])
            names_host = any(isinstance(x, (str, torch.device)) and str(x) == "cpu" for x in flat)  # the fake GPU is "cpu:0"
            if function == torch.Tensor.device.__get__:
                return torch.device("cpu") if args[0].on_host else gpu
            on_host = bool(fakes) and all(x.on_host for x in fakes)
            if name == "cpu" and not on_host:
                waits.append("cpu() is a copy that waits")
                return cls.copy(args[0], None, False)
            if name == "to" and names_host and not on_host:
                dtypes = [x for x in flat if isinstance(x, torch.dtype)]
                if not unblocked:
                    waits.append('to("cpu") without non_blocking')
                with plain():
                    return cls.copy(args[0].to(dtypes[0]) if dtypes else args[0], None, unblocked)
            into = args[0] if args else None
            if name in ("copy_", "__setitem__") and isinstance(into, torch.Tensor) and (type(into) is torch.Tensor or into.on_host):
                source = args[-1] if name == "__setitem__" else args[1]
                if isinstance(source, Fake) and not source.on_host:
                    if name == "__setitem__" or not unblocked:
                        waits.append("copy_ without non_blocking" if name == "copy_" else "an assignment into a host tensor")
                        unblocked = False
                    if name == "copy_":
                        return cls.copy(source, into, unblocked)
            if on_host and name not in looking and not (name == "__getitem__" and isinstance(args[1], (int, slice))):
                early.append(name)
            elif not on_host and (name in asking or (name == "where" and len(args) + len(kwargs) == 1)):
                waits.append(name)
            elif name == "__getitem__" and not on_host and isinstance(args[1], torch.Tensor) and args[1].dtype == torch.bool:
                waits.append("indexing by a mask")
            result = super().__torch_function__(function, kinds, args, kwargs)
            for x in result if isinstance(result, (list, tuple)) else (result,):
                if isinstance(x, Fake) and not x.on_host:
                    x.on_host = on_host or names_host
            return result

        @classmethod
        def copy(cls, source, into, unblocked):
            with plain():
                value = source.as_subclass(torch.Tensor).clone()
                target = torch.empty_like(value) if into is None else into.as_subclass(torch.Tensor)
                target.copy_(value.new_full(value.shape, 12345) if unblocked and not value.is_floating_point() else value)
                copies.append((target, value))
                if into is None:
                    into = target.as_subclass(cls)
                else:
                    into.__class__ = cls
                into.on_host = True
            return into

    def record(event, stream=None):
        # What was issued to this stream, or to one that this one waits for, comes before the event.
        right = stream is None or stream is engine.stream or any(stream is other for other in side_streams)
        recorded.append(event)
        event.behind = len(copies) if right else 0
        event.right_stream = right

    device_module.NullEvent.record = record
    device_module.NullEvent.synchronize = lambda event: waits.append("event.synchronize()")
    device_module.NullEvent.query = lambda event: waits.append("event.query()") or True
    device_module.NullStream.synchronize = lambda stream: waits.append("stream.synchronize()")
    device_module.NullStream.wait_stream = lambda stream, other: side_streams.append(stream) if other is engine.stream else None
    torch.cuda.synchronize = lambda device=None: waits.append("synchronize()")
    sample, forward, wanted = engine.sampler.sample, engine.model.forward, []

    def fake_forward():
        logits = forward().clone()
        logits[-1, 3] = float("nan")
        return logits.as_subclass(Fake)

    def fake_sample(logits, args):
        tokens = sample(logits.as_subclass(torch.Tensor), args)
        wanted.append(tokens.tolist())
        return tokens.clone().as_subclass(Fake)

    engine.model.forward, engine.sampler.sample = fake_forward, fake_sample
    reqs = []
    for i, ids in enumerate([[1, 2, 3], [4, 5], [300, 6, 7, 8]]):
        engine.page_table[i, :8] = torch.arange(i * 8, i * 8 + 8, dtype=torch.int32)
        reqs.append(Req(torch.tensor(ids, dtype=torch.int32), i, 0, 2, i, SamplingParams()))
    batch = Batch(reqs, "prefill")
    args = engine.prepare_batch(batch)
    engine.device = gpu
    with OnTheFakeGPU():
        out = engine.forward_batch(batch, args)
    if not isinstance(out, tuple) or len(out) != 3:
        return {"type": type(out).__name__}
    out = ForwardOutput(*out)
    event = out.copy_done_event
    with plain(), torch.inference_mode():
        for target, value in copies[: getattr(event, "behind", 0)]:
            target.copy_(value)
        places = ["device" if isinstance(x, Fake) and not x.on_host else "host" for x in (out.next_tokens_gpu, out.next_tokens_cpu)]
        tokens = [x.as_subclass(torch.Tensor).tolist() if isinstance(x, torch.Tensor) else None for x in (out.next_tokens_gpu, out.next_tokens_cpu)]
    return {"gpu": True, "waits": waits, "early": early, "places": places, "tokens": tokens, "want": wanted[0] if wanted else None,
            "recorded": any(event is other for other in recorded), "right stream": getattr(event, "right_stream", None)}  # fmt: skip


# ---- tests -------------------------------------------------------------------------------------------------------


def outputs(rows):
    """Every step gave an output, and counted one token for each request."""
    for step, row in enumerate(rows):
        text = row.get("refused", "")
        expect.that("active already" not in text, "a replay inside of ctx.forward_batch", [text], "replayed-inside-the-context")
        expect.that("nothing is captured" not in text, "a batch is replayed although can_use_cuda_graph says False", [], "replayed-unasked")
        expect.that("uid=-1" not in text, "the dummy request is told of a new token", [text], "dummies-counted")
        returned(row)
        expect.that(row.get("dummy", True), "the dummy request has changed", mistake="dummies-counted")
        want, suspects = lengths(row)
        expect.equal(row["after"], want, f"[cached_len, device_len] of the requests after step {step}", suspects=suspects)


def returned(row):
    kind = row.get("type", "ForwardOutput")
    lines = ["Is a `return` missing?"] if kind == "NoneType" else []
    expect.that("gpu" in row, f"forward_batch returns a {kind}; a ForwardOutput is wanted", lines, kind="type")


def only_read(got):
    changed = sorted({name for row in got["rows"] for name in row["changed"]})
    expect.that(not changed, f"forward_batch changes {', '.join('batch.' + name for name in changed)}", mistake="batch-changed")


def called(row):
    """Who was called in a step with logits of our own: the model or the graph once, then the sampler once."""
    way, seen, count = row["way"], row["seen"], len(row["before"])
    expect.that(not {"prepare_batch", "pad_batch"} & set(seen), "the batch is prepared a second time", [f"calls: {', '.join(seen)}"], "prepared-again")
    if way == "replay":
        expect.that("active already" not in row["raised"], "a replay inside of ctx.forward_batch", [row["raised"]], "replayed-inside-the-context")
    rows = [entry["shape"][0] if entry["shape"] else 0 for entry in row["sampled"]]
    line = [f"the sampler got {n} rows of logits; wanted are {count}, one for each of batch.reqs" for n in rows if n != count]
    expect.that(not any(n > count for n in rows), "the sampler was given the rows of padding as well", line, "padded-rows-sampled")
    expect.that(not line, "the sampler was not given one row for each request", line)
    if row["poison"] == "":
        expect.that(row["raised"] == "nothing", "forward_batch raises", [row["raised"]])
    passes = [entry for entry in seen if entry != "sample"]
    expect.equal(passes, [way], "what computes the logits",
                 suspects={"never-replayed": way == "replay" and passes == ["forward"], "replayed-unasked": way == "forward" and passes == ["replay"],
                           "replayed-and-run": way == "replay" and passes == ["replay", "forward"]})  # fmt: skip
    if row["poison"] != "model":
        expect.that(bool(rows), "the sampler is never called", mistake="sampler-not-asked")
        expect.that(len(rows) == 1, f"the sampler is called {len(rows)} times in one step", mistake="sampled-twice")
        expect.that(row["sampled"][0]["its arguments"], "the sampler gets other arguments than forward_batch was given", mistake="other-arguments")


def device_story(got):
    """What the fake GPU shows: waiting, early reads, the places of both outputs, the event."""
    returned(got)
    expect.that(got["want"] is not None, "the sampler is never called", mistake="sampler-not-asked")
    expect.that(not got["waits"], "the host waits for the device", sorted(set(got["waits"])), "host-waits")
    expect.that(got["places"] != ["host", "device"], "next_tokens_gpu lies on the host, next_tokens_cpu on the device", [], "outputs-swapped")
    expect.that(got["places"][1] == "host", "next_tokens_cpu is not the copy on the host", mistake="no-copy-to-the-host")
    garbage = 12345 in (got["tokens"][0] or [])
    lines = [f"with {', '.join(sorted(set(got['early'])))}"] if got["early"] else []
    expect.that(not garbage and got["places"][0] == "device", "next_tokens_gpu comes from the host's copy, which has not arrived", lines,
                "device-tokens-from-the-host-copy")  # fmt: skip
    expect.that(not got["early"], "the host's copy is read before it has arrived", lines, "host-copy-read-too-early")
    expect.that(got["recorded"], "copy_done_event was never recorded", [], "event-not-recorded")
    expect.that(got["right stream"], "copy_done_event is recorded on a stream that the copy is not on", mistake="event-on-another-stream")
    expect.that(12345 not in (got["tokens"][1] or []), "copy_done_event is recorded before the copy is started", [], "event-before-the-copy")


def check_tokens(row, want, name, suspects=None):
    count = len(want)
    for key, field in (("cpu", "next_tokens_cpu"), ("gpu", "next_tokens_gpu")):
        got = row[key]
        if isinstance(got, np.ndarray) and got.ndim == 1 and len(got) > count:
            expect.that(False, f"{field} has {len(got)} tokens for {count} requests", mistake="padded-rows-sampled")
        expect.is_tensor(got, field, shape=(count,))
    expect.equal(row["cpu"].tolist(), list(want), f"next_tokens_cpu {name}", suspects=suspects)
    floor = [max(0, token) for token in want]
    raw = {"invalid-id-on-the-device": list(want)} if floor != list(want) else {}
    expect.equal(row["gpu"].tolist(), floor, f"next_tokens_gpu {name}", suspects=(suspects or {}) | raw)
    expect.is_tensor(row["cpu"], "next_tokens_cpu", dtype="int32")
    expect.is_tensor(row["gpu"], "next_tokens_gpu", dtype="int32")


def lengths(row):
    """The lengths after a step that are right, and those of known mistakes."""
    want = [[device, device + 1] for _, device in row["before"]]
    return want, {
        "not-counted": row["before"],
        "counted-twice": [[d + 1, d + 2] for _, d in row["before"]],
        "first-request-only": want[:1] + row["before"][1:],
    }


def test_greedy_steps(tree, oracle):
    """Four greedy steps of three requests give Hugging Face's tokens, one per request in the batch's order, as int32"""
    model = tree.model("tiny-llama")
    want = [answer["tokens"] for answer in oracle.ask(questions.greedy, model="tiny-llama", prompts=PROMPTS, count=STEPS)]
    got = tree.run(some_steps, model=model, prompts=PROMPTS, steps=STEPS, ways=["plain"])["plain"]
    outputs(got["rows"])
    for step, row in enumerate(got["rows"]):
        tokens = [int(answer[step]) for answer in want]
        check_tokens(row, tokens, f"of step {step}", {"order-reversed": tokens[::-1]})
    only_read(got)
    expect.that(all(row["is output"] for row in got["rows"]), "forward_batch returns a plain tuple; a ForwardOutput is wanted", kind="type")


def test_lengths_and_the_context(tree):
    """After a step each request counts the new token, the host's tokens and the dummy are as before, no batch is active"""
    ways = tree.run(some_steps, model=tree.model("tiny-qwen3"), prompts=PROMPTS, steps=3, ways=["plain", "graphs"])
    for got in ways.values():
        outputs(got["rows"])
        for step, row in enumerate(got["rows"]):
            known = [len(ids) + step for ids in PROMPTS]
            expect.equal(row["host tokens"], known, "how many tokens the host knows (append_host is the caller's part)",
                         suspects={"host-told-at-once": [n + 1 for n in known]})  # fmt: skip
            expect.that(row["free"], "a batch is still active in ctx after forward_batch")
            expect.that(row["recorded"], "copy_done_event was never recorded", [], "event-not-recorded")
        only_read(got)


def test_replay_or_run(tree):
    """What the graph runner can replay is replayed, everything else runs the model with the batch active in ctx"""
    ways = tree.run(some_steps, model=tree.model("tiny-llama"), prompts=PROMPTS, steps=3, ways=["plain", "graphs"])
    for got in ways.values():
        outputs(got["rows"])
    rows, plain = ways["graphs"]["rows"], ways["plain"]["rows"]
    counts = [[row["replays"], row["runs"]] for row in rows]
    suspects = {"never-replayed": [[0, 1]] * 3, "replayed-and-run": [[0, 1], [1, 1], [1, 1]]}
    expect.equal(counts, [[0, 1], [1, 0], [1, 0]], "replays and runs of the model in a prefill and two decode steps", suspects=suspects)
    expect.that(all(row["right batch"] for row in rows), "another batch than the given one is replayed")
    expect.equal([[row["replays"], row["runs"]] for row in plain], [[0, 1]] * 3, "replays and runs where no graph fits")
    expect.equal(ways["plain"]["active"], [3, 3, 3], "the size of the batch that is active while the model runs")
    for step, (row, other) in enumerate(zip(rows, plain, strict=True)):
        check_tokens(row, other["cpu"].tolist(), f"of step {step} with graphs, against the same step without them,")


def test_padded_rows(tree, seed):
    """Padded rows are nobody's: only batch.size rows are sampled, with the arguments given, also random ones"""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (5, 512)).astype(np.float32)
    params = [{"temperature": 1.0, "seed": 5}, {}, {"temperature": 0.7, "top_k": 40, "seed": 6}]
    got = tree.run(given_logits, model=tree.model("tiny-llama"), logits=logits, params=params, padding=2)
    for row in got:
        called(row)
        returned(row)
        last = logits[-3:].argmax(-1).tolist() if row["way"] == "forward" else None
        check_tokens(row, row["direct"].tolist(), f"by {row['way']}, against the sampler called directly,",
                     {"last-rows-sampled": lambda got, last=last: last is not None and got[1] == last[1]})  # fmt: skip
        want, known = lengths(row)
        expect.equal(row["after"], want, "[cached_len, device_len] of the requests", suspects=known)


def test_a_row_without_a_token(tree):
    """A row whose logits are not finite gets -1 on the host and token 0 on the device; its neighbours keep theirs"""
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 2, (4, 512)).astype(np.float32)
    logits[1, 77], logits[3, 5] = np.nan, np.inf
    params = [{}, {}, {"temperature": 1.0, "seed": 2}, {"temperature": 1.0, "seed": 3}]
    for row in tree.run(given_logits, model=tree.model("tiny-llama"), logits=logits, params=params, padding=0):
        called(row)
        returned(row)
        good = row["direct"].tolist()
        expect.that(good[1] == good[3] == -1, "the sampler does not mark a bad row with -1")
        floor = [max(0, token) for token in good]
        host, device = (row[key].tolist() if isinstance(row[key], np.ndarray) else None for key in ("cpu", "gpu"))
        expect.that([host, device] != [floor, good], "next_tokens_cpu and next_tokens_gpu hold each other's tokens", [], "outputs-swapped")
        if host == floor or device == good:
            there = tree.run(on_a_fake_gpu, model=tree.model("tiny-llama"))
            expect.that(there.get("places") != ["host", "device"], "next_tokens_gpu lies on the host, next_tokens_cpu on the device", [], "outputs-swapped")
            shared = host == device == floor and "tokens" in there and there["tokens"] == [[max(0, x) for x in there["want"]], there["want"]]
            expect.that(not shared, "next_tokens_cpu holds 0 where a row could not be sampled, on a CPU but not on a GPU", [], "host-copy-shares-memory")
        check_tokens(row, good, "with two bad rows", {"bad-row-hidden-from-the-host": floor})
        want, known = lengths(row)
        expect.equal(row["after"], want, "[cached_len, device_len] of the requests", suspects=known)


def test_errors_change_nothing(tree):
    """If the forward pass or the sampler raises, it comes through, no request has changed and no batch is active"""
    logits = np.zeros((3, 512), np.float32)
    got = tree.run(given_logits, model=tree.model("tiny-llama"), logits=logits, params=[{}, {}], padding=1, poisons=["model", "sampler"])
    for row in got:
        what = f"the {row['poison']} raises ({row['way']})"
        called(row)
        expect.that(row["raised"].startswith("from the"), f"{what}, and the error does not come through", [row["raised"]], "errors-swallowed")
        expect.equal(row["after"], row["before"], f"[cached_len, device_len] after {what}",
                     suspects={"counted-before-sampling": lengths(row)[0]})  # fmt: skip
        expect.that(not row["stuck"], f"{what}, and its batch stays active in ctx", mistake="batch-stays-active")


def test_the_host_does_not_wait(tree):
    """The tokens are copied without waiting, then the event is recorded; each step has an output and an event of its own"""
    got = tree.run(on_a_fake_gpu, model=tree.model("tiny-llama"))
    device_story(got)
    want = got["want"]
    expect.equal(got["tokens"], [[max(0, token) for token in want], want], "[next_tokens_gpu, next_tokens_cpu] of a step whose last row is not finite")
    two = tree.run(two_outputs, model=tree.model("tiny-llama"))
    returned(two)
    expect.equal(two["now"], two["then"], "the outputs of earlier steps, read after later ones,", suspects={"one-buffer-for-all-steps": True})
    expect.equal(two["device"], two["then"], "next_tokens_gpu of earlier steps, read after later ones,")
    expect.that(two["events"] == 4, "several steps share one event", mistake="one-event-for-all-steps")
