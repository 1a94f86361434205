"""Exercise 199, the gate: the engine driven by hand, against Hugging Face."""

import numpy as np

from judge import expect, questions, warpers
from judge.prompts import PROMPTS, STEPS

TINY = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")
REAL = "SmolLM2-135M-Instruct"
ARRAYS = {"input_ids": "batch.input_ids", "positions": "batch.positions", "out_loc": "batch.out_loc"}


# ---- probes: run next to the learner's code ----------------------------------------------------------------------
# Each makes real engines (config.json is read without transformers, which takes seconds to import).


def prepared(model, reqs, phase, padded, page_size, width):
    """What prepare_batch makes of requests with given lengths, rows and slots; nothing is computed.

    The graph runner is a stand-in that pads to `padded` requests and notes when it is asked.
    """
    import json
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=7, num_page_override=64,
                                 page_size=page_size, max_seq_len_override=width))  # fmt: skip
    engine.page_table[:7] = -1
    live = []
    for uid, r in enumerate(reqs):
        engine.page_table[r["row"], : len(r["slots"])] = torch.tensor(r["slots"], dtype=torch.int32)
        live.append(Req(torch.tensor(r["ids"], dtype=torch.int32), r["row"], r["cached"], 3, uid, SamplingParams(**r["params"])))
    table = engine.page_table.clone()
    runner, sampler = engine.graph_runner, engine.sampler

    class Runner:
        def __getattr__(self, name):
            return getattr(runner, name)

        def pad_batch(self, batch):
            batch.padded_reqs = batch.reqs + [engine.dummy_req] * (padded - batch.size)

    engine.graph_runner = Runner()
    batch = Batch(live, phase)
    args = engine.prepare_batch(batch)
    answer = {name: getattr(batch, name, None) for name in ("input_ids", "positions", "out_loc")}
    answer["padded"] = batch.padded_size
    answer["metadata"] = getattr(batch, "attn_metadata", None) is not None
    if answer["metadata"]:
        answer["last"] = [int(i) for i in batch.attn_metadata.get_last_indices(batch.padded_size)]
    wanted = sampler.prepare(batch)
    fields = ("temperatures", "top_ks", "top_ps", "min_ps", "uniforms")
    listed = lambda given, name: None if getattr(given, name) is None else getattr(given, name).tolist()  # noqa: E731
    answer["args"] = type(args).__name__
    if args is not None and all(hasattr(args, name) for name in fields):
        answer["right args"] = all(listed(args, name) == listed(wanted, name) for name in fields)
    answer["lengths"] = [[r.cached_len, r.device_len] for r in live]
    answer["table kept"] = bool(torch.equal(engine.page_table, table))
    engine.page_table.fill_(-7)
    answer["later"] = batch.out_loc
    return answer


def unknown_token(model):
    """A decode step whose newest token the host does not know yet, then the same step with it."""
    import json
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=2, num_page_override=64, max_seq_len_override=32))
    engine.page_table[0, :8] = torch.arange(8, dtype=torch.int32)
    req = Req(torch.tensor([3, 4, 5], dtype=torch.int32), 0, 0, 3, 0, SamplingParams())
    batch = Batch([req], "prefill")
    engine.prepare_batch(batch)
    req.complete_one()
    try:
        engine.prepare_batch(Batch([req], "decode"))
        answer = {}
    except NotImplementedError:
        raise
    except Exception as error:
        answer = {"raised": type(error).__name__, "text": str(error)}
    req.append_host(9)
    batch = Batch([req], "decode")
    engine.prepare_batch(batch)
    return answer | {"then": batch.positions.tolist()}


def greedy_by_hand(models, prompts, steps, page_size, together=True, pieces=0):
    """Greedy tokens and first logits of each model's prompts, on engines that follow each other in this process.

    All prompts are one batch (or each has an engine step of its own), in shuffled rows and scattered pages.
    With `pieces`, a prompt is computed in pieces of that many tokens, so that there is a cache before the later ones.
    """
    import json
    import traceback
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams, get_global_ctx
    from minisgl.distributed import try_get_tp_info
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine

    def work():
        config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
        answers = {}
        for name, path in models.items():
            longest = max(len(ids) for ids in prompts[name]) + steps
            pages_each = -(-longest // page_size)
            engine = Engine(EngineConfig(path, dtype=torch.float32, device="cpu", max_running_req=len(prompts[name]) + 2, page_size=page_size,
                                         num_page_override=pages_each * len(prompts[name]) + 3, max_seq_len_override=256))  # fmt: skip
            pages = torch.randperm(engine.num_pages, generator=torch.Generator().manual_seed(5))[: pages_each * len(prompts[name])]
            slots = (pages[:, None] * page_size + torch.arange(page_size)).view(len(prompts[name]), -1).to(torch.int32)
            logits, sample = [], engine.sampler.sample
            engine.sampler.sample = lambda rows, args, logits=logits, sample=sample: (logits.append(rows.clone()), sample(rows, args))[1]

            def step(reqs, phase, engine=engine):
                batch = Batch(reqs, phase)
                args = engine.prepare_batch(batch)
                made, wanted = len(batch.input_ids), sum(req.extend_len for req in reqs)
                if made != wanted:  # to go on would only take long
                    raise AssertionError(f"prepare_batch made {made} input_ids for {wanted} tokens to compute")
                out = engine.forward_batch(batch, args)
                out.copy_done_event.synchronize()
                return out.next_tokens_cpu.tolist()

            reqs, first = [], []
            for i, ids in enumerate(prompts[name]):
                row = (5 * i + 3) % (len(prompts[name]) + 2) if (len(prompts[name]) + 2) % 5 else i + 1
                engine.page_table[row, : slots.shape[1]] = slots[i]
                done = 0
                while pieces and len(ids) - done > pieces:
                    part = Req(torch.tensor(ids[: done + pieces], dtype=torch.int32), row, done, 1, i, SamplingParams())
                    step([part], "prefill")
                    done += pieces
                reqs.append(Req(torch.tensor(ids, dtype=torch.int32), row, done, steps, i, SamplingParams()))
            groups = [reqs] if together else [[req] for req in reqs]
            for group in groups:
                for n in range(steps):
                    tokens = step(group, "decode" if n else "prefill")
                    if n == 0:
                        first.append(logits[-1])
                    for req, token in zip(group, tokens):
                        req.append_host(token)
            answers[name] = {"logits": torch.cat(first), "tokens": [r.input_ids[len(ids) :].tolist() for r, ids in zip(reqs, prompts[name])]}
            engine.shutdown()
            try:
                get_global_ctx()
                answers[name]["left"] = "the global context"
            except RuntimeError:
                answers[name]["left"] = None if try_get_tp_info() is None else "the TP info"
        return answers

    try:
        return work()
    except NotImplementedError:
        raise
    except Exception as error:
        place = [f"{frame.filename.rpartition('minisgl/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        return {"raised": type(error).__name__, "text": str(error), "place": place[-1]}


def padded_step(model, prompts, fill):
    """A prefill and a decode step with the decode batch padded to twice its size; which slots of the pool changed?"""
    import json
    import traceback
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine

    def work():
        config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
        answers = []
        for padding in (0, len(prompts)):
            engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=4, num_page_override=24, page_size=4,
                                         max_seq_len_override=64))  # fmt: skip
            real, dummy = engine.graph_runner, engine.dummy_req

            class Runner:
                def pad_batch(self, batch, padding=padding, dummy=dummy):
                    batch.padded_reqs = batch.reqs + [dummy] * (padding if batch.is_decode else 0)

                def __getattr__(self, name, real=real):
                    return getattr(real, name)

            engine.graph_runner = Runner()
            for layer in range(engine.kv_cache.num_layers):
                engine.kv_cache.k_cache(layer).fill_(fill)
                engine.kv_cache.v_cache(layer).fill_(fill)
            reqs, own = [], set()
            for i, ids in enumerate(prompts):
                slots = torch.tensor([(23 - 8 * i - s // 4) * 4 + s % 4 for s in range(len(ids) + 2)], dtype=torch.int32)
                engine.page_table[i + 1, : len(slots)] = slots
                own |= set(slots[: len(ids) + 1].tolist())
                reqs.append(Req(torch.tensor(ids, dtype=torch.int32), i + 1, 0, 2, i, SamplingParams()))
            tokens = []
            for phase in ("prefill", "decode"):
                batch = Batch(reqs, phase)
                out = engine.forward_batch(batch, engine.prepare_batch(batch))
                tokens.append(out.next_tokens_cpu.tolist())
                for req, token in zip(reqs, tokens[-1]):
                    req.append_host(token)
            written = set()
            for layer in range(engine.kv_cache.num_layers):
                for cache in (engine.kv_cache.k_cache(layer), engine.kv_cache.v_cache(layer)):
                    written |= set((cache.flatten(0, 1) != fill).any(-1).any(-1).nonzero().flatten().tolist())
            answers.append({"tokens": tokens, "strangers": sorted(written - own), "missing": sorted(own - written)})
            engine.shutdown()
        return answers

    try:
        return work()
    except NotImplementedError:
        raise
    except Exception as error:
        place = [f"{frame.filename.rpartition('minisgl/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        return {"raised": type(error).__name__, "text": str(error), "place": place[-1]}


def many_draws(model, ids, params, draws):
    """`draws` first tokens of one prompt for each of `params`, every one a request with a seed of its own, in one batch.

    The prompt's first tokens are computed once; all requests share their slots and compute the last token anew.
    """
    import json
    import traceback
    import types
    from pathlib import Path

    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine

    def work():
        config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
        count, n = len(params) * draws, len(ids)
        engine = Engine(EngineConfig(model, dtype=torch.float32, device="cpu", max_running_req=count, num_page_override=count + n,
                                     max_seq_len_override=32))  # fmt: skip
        engine.page_table[:count, : n - 1] = torch.arange(n - 1, dtype=torch.int32)
        engine.page_table[:count, n - 1] = torch.arange(n - 1, n - 1 + count, dtype=torch.int32)
        tokens = torch.tensor(ids, dtype=torch.int32)
        prefix = Batch([Req(tokens[:-1], 0, 0, 1, 0, SamplingParams())], "prefill")
        engine.forward_batch(prefix, engine.prepare_batch(prefix))
        reqs = []
        for i in range(count):
            given = SamplingParams(**params[i % len(params)], seed=1000 + i)
            reqs.append(Req(tokens, (i * 7) % count if count % 7 else i, n - 1, 1, i, given))
        batch = Batch(reqs, "prefill")
        out = engine.forward_batch(batch, engine.prepare_batch(batch))
        out.copy_done_event.synchronize()
        return {"tokens": out.next_tokens_cpu}

    try:
        return work()
    except NotImplementedError:
        raise
    except Exception as error:
        place = [f"{frame.filename.rpartition('minisgl/')[2]}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        return {"raised": type(error).__name__, "text": str(error), "place": place[-1]}


def count_files():
    """How many Python files the engine has."""
    from pathlib import Path

    import minisgl

    return len(list(Path(minisgl.__file__).parent.rglob("*.py")))


# ---- inputs and expectations -------------------------------------------------------------------------------------

REQS = [
    {"row": 5, "cached": 0, "ids": [11, 12, 13, 14, 15], "params": {}},
    {"row": 2, "cached": 4, "ids": [21, 22, 23, 24, 25, 26, 27], "params": {"temperature": 0.8, "top_p": 0.9, "seed": 4}},
    {"row": 0, "cached": 3, "ids": [31, 32, 33, 34], "params": {"temperature": 1.2, "top_k": 8, "seed": 0}},
    {"row": 6, "cached": 0, "ids": [41], "params": {}},
]  # fmt: skip


def with_slots(reqs, page_size):
    """Requests with the slots of scattered pages, counting down, for all tokens they have and three more."""
    page, out = 63, []
    for r in reqs:
        total = len(r["ids"]) + 3
        slots = []
        while len(slots) < total:
            slots += [page * page_size + offset for offset in range(page_size)]
            page -= 3 if page > 3 else -2
        out.append(r | {"slots": slots[:total]})
    return out


def fields(reqs, padding, page_size, width, mistake=None):
    """input_ids, positions and out_loc of a batch, or those of a known mistake."""
    dummy = {"row": 7, "cached": 0, "ids": [0], "slots": [64 * page_size] * width}
    table = np.full((8, width), -1)
    for r in [*reqs, dummy]:
        table[r["row"], : len(r["slots"])] = r["slots"]
    rows = reqs + [dummy] * (0 if mistake == "padding-left-out" else padding)
    ids, positions, out_loc = [], [], []
    tiled = [r["row"] for r in rows] * sum(len(r["ids"]) for r in rows)
    for i, r in enumerate(rows):
        first, last = r["cached"], len(r["ids"])
        if mistake == "cached-tokens-computed-again":
            first = 0
        span = list(range(first, last))
        ids += r["ids"][first:last]
        late = mistake == "positions-one-too-far"
        positions += list(range(last - first)) if mistake == "positions-from-zero" else [c + late for c in span]
        columns = list(range(last - first)) if mistake in ("slots-from-column-zero", "positions-from-zero") else span
        if mistake in ("one-slot-too-far", "positions-one-too-far"):
            columns = [c + 1 for c in span]
        for c in columns:
            row = {"row-in-the-batch": i, "rows-tiled": tiled[len(out_loc)]}.get(mistake, r["row"])
            slot = int(table[row, min(c, width - 1)])
            out_loc.append({"pages-not-slots": slot // page_size, "row-times-width": r["row"] * width + c, "positions-as-slots": c}.get(mistake, slot))
    return {"input_ids": ids, "positions": positions, "out_loc": out_loc}


def encoded(oracle, name, texts):
    return [list(map(int, ids)) for ids in oracle.ask(questions.encode, model=name, texts=texts)]


def ran(got):
    """What a probe that drives an engine brought back, if it came to its end."""
    if isinstance(got, dict) and "raised" in got:
        expect.that(False, f"a step on the way raises {got['raised']} ({got['place']})", [got["text"][:200]])
    return got


def compare(got, want, texts, name):
    """First logits within 1e-4, then tokens exactly."""
    logits = np.stack([answer["logits"][0] for answer in want])
    expect.close(got["logits"], logits, atol=1e-4, name=f"the logits of {name} after the prompts", axes=("prompt", "token"), dtype="float32")
    expect.same_tokens(got["tokens"], [answer["tokens"] for answer in want], prompts=texts)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_fields_of_a_batch(tree):
    """prepare_batch sets the ids, positions and slots of the tokens to compute, int32, from each request's own row"""
    names = ("row-in-the-batch", "rows-tiled", "slots-from-column-zero", "positions-from-zero", "cached-tokens-computed-again", "one-slot-too-far",
             "pages-not-slots", "row-times-width", "positions-as-slots", "padding-left-out", "positions-one-too-far")  # fmt: skip
    decode = [r | {"cached": len(r["ids"]) - 1} for r in REQS]
    for reqs, phase, padding, page_size in ((REQS, "prefill", 0, 1), (REQS, "prefill", 0, 4), (decode[:3], "decode", 2, 4)):
        reqs = with_slots(reqs, page_size)
        got = tree.run(prepared, model=tree.model("tiny-llama"), reqs=reqs, phase=phase, padded=len(reqs) + padding, page_size=page_size, width=32)
        want = fields(reqs, padding, page_size, 32)
        expect.that(got["padded"] == len(reqs) + padding, "graph_runner.pad_batch is not asked to pad the batch", mistake="never-padded")
        for key, name in ARRAYS.items():
            expect.that(got[key] is not None, f"{name} is not set")
            expect.is_tensor(got[key], name)
        arrays = {key: np.asarray(got[key]).tolist() for key in ARRAYS}
        wrong = [fields(reqs, padding, page_size, 32, name) for name in names]
        mistake = next((name for name, other in zip(names, wrong, strict=True) if arrays == other), None) if arrays != want else None
        for key, name in ARRAYS.items():
            expect.equal(arrays[key], want[key], f"{name} of a {phase} batch", suspects={mistake: True} if mistake else None)
            expect.is_tensor(got[key], name, shape=(len(want[key]),), dtype="int32")


def test_metadata_and_arguments(tree):
    """The attention backend's metadata covers the padded batch, the sampler's arguments are returned, nothing else changes"""
    reqs = with_slots([r | {"cached": len(r["ids"]) - 1} for r in REQS], 1)
    got = tree.run(prepared, model=tree.model("tiny-qwen3"), reqs=reqs, phase="decode", padded=6, page_size=1, width=64)
    expect.that(got["metadata"], "batch.attn_metadata is not set", mistake="metadata-forgotten")
    early = {"padded-too-late": [0, 1, 2, 3]}
    expect.equal(got["last"], [0, 1, 2, 3, 4, 5], "the last rows of the padded batch's requests, as attn_metadata has them,", suspects=early)
    expect.that(got["args"] != "NoneType", "prepare_batch returns None; the sampler's arguments are wanted", ["Is a `return` missing?"], kind="type")
    expect.that(got.get("right args", False), "what prepare_batch returns is not what the sampler prepares for the batch", mistake="other-arguments")
    expect.equal(got["lengths"], [[r["cached"], len(r["ids"])] for r in reqs], "the lengths of the requests after prepare_batch")
    expect.that(got["table kept"], "prepare_batch changes the page table")
    want = fields(reqs, 2, 1, 64)
    expect.equal(np.asarray(got["later"]).tolist(), want["out_loc"], "batch.out_loc, after the page table has changed,")


def test_a_token_that_is_still_on_its_way(tree):
    """A token that the host does not know yet is a RuntimeError; with it, the step goes to the next position"""
    got = tree.run(unknown_token, model=tree.model("tiny-llama"))
    expect.raised(got, "RuntimeError", what="a decode step before append_host")
    expect.equal(got["then"], [3], "the position of the first token after a prompt of 3")


def test_tiny_models_equal_hugging_face(tree, oracle):
    """Prefill logits within 1e-4 and 16 greedy tokens of Hugging Face, five architectures one after the other in a process"""
    prompts = {name: encoded(oracle, name, PROMPTS) for name in TINY}
    got = ran(tree.run(greedy_by_hand, models={name: tree.model(name) for name in TINY}, prompts=prompts, steps=STEPS, page_size=4))
    for name in TINY:
        compare(got[name], oracle.ask(questions.greedy, model=name, prompts=prompts[name], count=STEPS), PROMPTS, name)
        expect.that(got[name]["left"] is None, f"shutdown leaves {got[name]['left']} behind")


def test_alone_and_in_pieces(tree, oracle):
    """The same for a prompt alone, behind its own cached pieces, and with pages of 1 and 16 tokens"""
    name = "tiny-qwen2"
    prompts = {name: encoded(oracle, name, PROMPTS)}
    want = oracle.ask(questions.greedy, model=name, prompts=prompts[name], count=STEPS)
    models = {name: tree.model(name)}
    for options in ({"page_size": 16, "pieces": 3}, {"page_size": 1, "together": False}):
        got = ran(tree.run(greedy_by_hand, models=models, prompts=prompts, steps=STEPS if options["page_size"] == 16 else 4, **options))
        compare(got[name], want if options["page_size"] == 16 else [{"logits": w["logits"], "tokens": w["tokens"][:4]} for w in want], PROMPTS, name)  # fmt: skip


def test_padding_writes_to_its_own_page(tree):
    """Padded rows write to the dummy's page alone: no other slot changes, and the real tokens are as without them"""
    plain, padded = ran(tree.run(padded_step, model=tree.model("tiny-llama"), prompts=[[5, 6, 7], [8, 9, 10, 11]], fill=7.0))
    expect.equal(padded["tokens"], plain["tokens"], "the tokens of a padded batch")
    expect.equal([plain["missing"], padded["missing"]], [[], []], "slots that the requests own and that were not written")
    expect.equal([plain["strangers"], padded["strangers"]], [[], [96]], "other slots that were written (the dummy's first one is 96)")


def test_sampled_tokens(tree, oracle):
    """First tokens of many requests with seeds of their own follow Hugging Face's warped distribution"""
    name, params = "tiny-llama", [{"temperature": 0.6, "top_k": 6}, {"temperature": 0.35, "top_p": 0.7}, {"temperature": 0.5, "top_k": 20, "top_p": 0.8}]
    ids = encoded(oracle, name, PROMPTS[:1])[0]
    last = np.asarray(oracle.ask(questions.logits, model=name, prompts=[ids])[0])[-1]
    edge = min(warpers.margin(last, p) for p in params)
    expect.that(edge > 5e-4, f"the parameters of this test are too near to an edge ({edge:.1e}); choose others", kind="judge")
    want = np.asarray(oracle.ask(questions.warped, logits=np.stack([last] * len(params)), params=params))
    got = expect.is_tensor(ran(tree.run(many_draws, model=tree.model(name), ids=ids, params=params, draws=400))["tokens"], "the sampled tokens", shape=(400 * len(params),))
    rows = got.reshape(400, len(params)).T
    support = np.flatnonzero(want.max(0) > 0)
    outside = ~np.isin(rows, support)
    expect.that(not outside.any(), f"{int(outside.sum())} of {rows.size} sampled tokens are none that Hugging Face allows")
    expect.same_distribution(np.searchsorted(support, rows), want[:, support], rows=[str(p) for p in params])


def test_a_real_model(tree, oracle):
    """SmolLM2: prefill logits within 1e-4, and 16 greedy tokens of Hugging Face"""
    texts = [text for text in PROMPTS if len(text) > 1]  # at one token, Hugging Face itself is off by 4e-5 in float32
    path = tree.model(REAL)
    prompts = {REAL: encoded(oracle, REAL, texts)}
    want = oracle.ask(questions.greedy, model=REAL, prompts=prompts[REAL], count=STEPS)
    got = ran(tree.run(greedy_by_hand, models={REAL: path}, prompts=prompts, steps=STEPS, page_size=16))
    compare(got[REAL], want, texts, REAL)


def test_the_tree(tree):
    """The engine has 46 files by now"""
    expect.equal(tree.run(count_files), 46, "the number of Python files")
