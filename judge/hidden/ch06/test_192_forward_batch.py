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
        dummy_before, rows = [dummy.cached_len, dummy.device_len], []
        for step in range(steps):
            batch = Batch(reqs, "prefill" if step == 0 else "decode")
            args = engine.prepare_batch(batch)
            before, positions = [[r.cached_len, r.device_len] for r in reqs], batch.positions.clone()
            replays, runs = len(seen["replayed"]), len(seen["run"])
            try:
                out = engine.forward_batch(batch, args)
            except RuntimeError as error:
                if isinstance(error, NotImplementedError) or not ("active already" in str(error) or "uid=-1" in str(error)):
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
            row["positions kept"] = bool(torch.equal(positions, batch.positions))
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
    answers, sampler = [], engine.sampler
    for poison, way in [(poison, way) for poison in poisons for way in ("forward", "replay")]:
        seen = []
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

        class Runner:
            def can_use_cuda_graph(self, given, way=way):
                return way == "replay"

            def replay(self, given, seen=seen, batch=batch, poison=poison):
                seen.append("replay" if given is batch else "replay of another batch")
                with engine.ctx.forward_batch(given):
                    if poison == "model":
                        raise ZeroDivisionError("from the graph")
                return logits.clone()

        class Sampler:
            def __getattr__(self, name):
                return getattr(sampler, name)

            def sample(self, rows, given, seen=seen, args=args, poison=poison):
                seen.append(f"sample {list(rows.shape)}{'' if given is args else ' with other arguments'}")
                if poison == "sampler":
                    raise ZeroDivisionError("from the sampler")
                return sampler.sample(rows, given)

        real, engine.graph_runner, engine.sampler = engine.graph_runner, Runner(), Sampler()
        kept = engine.model.forward
        engine.model.forward = fake_forward
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
        row["poison"] = poison
        try:
            with engine.ctx.forward_batch(batch):
                row["stuck"] = False
        except RuntimeError:
            row["stuck"] = True
            engine.ctx = Context(1)
        engine.graph_runner, engine.sampler, engine.model.forward = real, sampler, kept
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


def what_waits(model):
    """A step whose sampled tokens note every operation that would make the host wait for a GPU."""
    import json
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine, ForwardOutput
    from minisgl.utils import device as device_module

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=4, num_page_override=64,
                                 max_seq_len_override=32))  # fmt: skip
    waits, order = [], []
    asking = {"item", "tolist", "__int__", "__float__", "__bool__", "__index__", "numpy", "nonzero", "equal", "unique", "__contains__", "allclose"}

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, kinds, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = getattr(function, "__name__", str(function))
            if name in asking:
                waits.append(name)
            if name == "cpu":
                waits.append("cpu() is a copy that waits")
                order.append("copy")
            if name == "to" and "cpu" in [str(x) for x in (*args[1:], *kwargs.values())]:
                order.append("copy")
                if not (kwargs.get("non_blocking") or True in args[1:3]):
                    waits.append('to("cpu") without non_blocking')
            if name == "copy_":
                order.append("copy")
                if not (kwargs.get("non_blocking") or True in args[2:]):
                    waits.append("copy_ without non_blocking")
            return super().__torch_function__(function, kinds, args, kwargs)

    device_module.NullEvent.synchronize = lambda self: waits.append("event.synchronize()")
    device_module.NullStream.synchronize = lambda self: waits.append("stream.synchronize()")
    device_module.NullEvent.record = lambda self, stream=None: order.append("record")
    sample = engine.sampler.sample
    engine.sampler.sample = lambda logits, args: sample(logits, args).as_subclass(Watched)
    reqs = []
    for i, ids in enumerate([[1, 2, 3], [4, 5]]):
        engine.page_table[i, :8] = torch.arange(i * 8, i * 8 + 8, dtype=torch.int32)
        reqs.append(Req(torch.tensor(ids, dtype=torch.int32), i, 0, 2, i, SamplingParams()))
    batch = Batch(reqs, "prefill")
    args = engine.prepare_batch(batch)
    out = engine.forward_batch(batch, args)
    if not isinstance(out, tuple) or len(out) != 3:
        return {"type": type(out).__name__}
    out = ForwardOutput(*out)
    return {"gpu": True, "waits": waits, "order": order, "tokens": out.next_tokens_cpu.as_subclass(torch.Tensor)}


# ---- tests -------------------------------------------------------------------------------------------------------


def outputs(rows):
    """Every step gave an output, and counted one token for each request."""
    for step, row in enumerate(rows):
        text = row.get("refused", "")
        expect.that("active already" not in text, "a replay inside of ctx.forward_batch", [text], "replayed-inside-the-context")
        expect.that("uid=-1" not in text, "the dummy request is told of a new token", [text], "dummies-counted")
        returned(row)
        expect.that(row.get("dummy", True), "the dummy request has changed", mistake="dummies-counted")
        want, suspects = lengths(row)
        expect.equal(row["after"], want, f"[cached_len, device_len] of the requests after step {step}", suspects=suspects)


def returned(row):
    kind = row.get("type", "ForwardOutput")
    lines = ["Is a `return` missing?"] if kind == "NoneType" else []
    expect.that("gpu" in row, f"forward_batch returns a {kind}; a ForwardOutput is wanted", lines, kind="type")


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
    expect.that(all(row["positions kept"] for row in got["rows"]), "forward_batch changes batch.positions")
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
        short = [entry for entry in row["seen"] if entry.startswith("sample")]
        full = bool(short) and short[0].startswith("sample [5")
        expect.that(row["raised"] == "nothing" or full, "forward_batch raises", [row["raised"]])
        expect.that(not full, "the sampler was given the rows of padding as well", short, "padded-rows-sampled")
        if row["way"] == "replay":
            nested = "active already" in row["raised"]
            expect.that(not nested, "a replay inside of ctx.forward_batch", [row["raised"]], "replayed-inside-the-context")
        returned(row)
        expect.that(bool(short), "the sampler is never called", mistake="sampler-not-asked")
        expect.equal(row["seen"], [row["way"], "sample [3, 512]"], "who was called", suspects={"never-replayed": ["forward", "sample [3, 512]"]})
        check_tokens(row, row["direct"].tolist(), f"by {row['way']}, against the sampler called directly,")
        want, known = lengths(row)
        expect.equal(row["after"], want, "[cached_len, device_len] of the requests", suspects=known)


def test_a_row_without_a_token(tree):
    """A row whose logits are not finite gets -1 on the host and token 0 on the device; its neighbours keep theirs"""
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 2, (4, 512)).astype(np.float32)
    logits[1, 77], logits[3, 5] = np.nan, np.inf
    params = [{}, {}, {"temperature": 1.0, "seed": 2}, {"temperature": 1.0, "seed": 3}]
    for row in tree.run(given_logits, model=tree.model("tiny-llama"), logits=logits, params=params, padding=0):
        expect.that(row["raised"] == "nothing", "a bad row makes forward_batch raise", [row["raised"]])
        returned(row)
        good = row["direct"].tolist()
        hidden = {"bad-row-hidden-from-the-host": [max(0, token) for token in good]}
        expect.that(good[1] == good[3] == -1, "the sampler does not mark a bad row with -1")
        check_tokens(row, good, "with two bad rows", hidden)
        want, known = lengths(row)
        expect.equal(row["after"], want, "[cached_len, device_len] of the requests", suspects=known)


def test_errors_change_nothing(tree):
    """If the forward pass or the sampler raises, it comes through, no request has changed and no batch is active"""
    logits = np.zeros((3, 512), np.float32)
    got = tree.run(given_logits, model=tree.model("tiny-llama"), logits=logits, params=[{}, {}], padding=1, poisons=["model", "sampler"])
    for row in got:
        what = f"the {row['poison']} raises ({row['way']})"
        asked = row["poison"] == "model" or any(entry.startswith("sample") for entry in row["seen"])
        expect.that(asked, "the sampler is never called", mistake="sampler-not-asked")
        expect.that(row["raised"].startswith("from the"), f"{what}, and the error does not come through", [row["raised"]], "errors-swallowed")
        expect.equal(row["after"], row["before"], f"[cached_len, device_len] after {what}",
                     suspects={"counted-before-sampling": lengths(row)[0]})  # fmt: skip
        expect.that(not row["stuck"], f"{what}, and its batch stays active in ctx", mistake="batch-stays-active")


def test_the_host_does_not_wait(tree):
    """The tokens are copied without waiting, then the event is recorded; each step has an output and an event of its own"""
    got = tree.run(what_waits, model=tree.model("tiny-llama"))
    returned(got)
    expect.that(not got["waits"], "the host waits for the device", sorted(set(got["waits"])), "host-waits")
    expect.that("record" in got["order"], "copy_done_event was never recorded", [], "event-not-recorded")
    if "copy" in got["order"]:
        last = len(got["order"]) - 1 - got["order"][::-1].index("record")
        expect.that("copy" in got["order"][:last], "the event is recorded before the copy is started", [f"order: {', '.join(got['order'])}"],
                    "event-before-the-copy")  # fmt: skip
    else:
        expect.that(False, "the sampled tokens are never copied to the host", mistake="no-copy-to-the-host")
    two = tree.run(two_outputs, model=tree.model("tiny-llama"))
    returned(two)
    expect.equal(two["now"], two["then"], "the outputs of earlier steps, read after later ones,", suspects={"one-buffer-for-all-steps": True})
    expect.equal(two["device"], two["then"], "next_tokens_gpu of earlier steps, read after later ones,")
    expect.that(two["events"] == 4, "several steps share one event", mistake="one-event-for-all-steps")
