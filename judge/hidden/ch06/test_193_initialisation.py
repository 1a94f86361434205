"""Exercise 193: the order of initialisation."""

from judge import expect, questions
from judge.prompts import PROMPTS, STEPS

# num_layers, local KV heads, head_dim of the tiny models' pools
POOLS = {"tiny-llama": (2, 2, 16), "tiny-qwen3": (2, 2, 32), "tiny-qwen3-moe": (2, 2, 32)}
NAMES = ("config", "device", "dtype", "stream", "ctx", "model", "num_pages", "kv_cache", "page_table", "attn_backend", "sampler", "dummy_req", "graph_runner")


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def bring_up(cases, prompts=()):
    """Bring up an engine for each case, one after the other in this process, and describe it.

    The free memory is made up: `memory` bytes, less `weights` once a model has its weights, less `pool` once there is a
    KV pool. A case with "fails" is expected to raise. Notes what was ready when the graph runner was made.
    """
    import inspect
    import json
    import types
    from pathlib import Path

    import psutil
    import torch

    import minisgl.engine.config as config_module
    from minisgl.core import Batch, Req, SamplingParams, get_global_ctx
    from minisgl.distributed import try_get_tp_info
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine
    from minisgl.engine.graph import GraphRunner
    from minisgl.kvcache.mha_pool import MHAKVCache
    from minisgl.layers.base import BaseOP

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    now = {}

    def fake_memory():
        free = now["memory"] - now["weights"] * now["loaded"] - now["pool"] * now["pooled"]
        now["measured"].append([now["loaded"], now["pooled"]])
        return types.SimpleNamespace(available=free)

    load, make_pool, make_graphs = BaseOP.load_state_dict, MHAKVCache.__init__, GraphRunner.__init__

    def watched_load(self, state_dict, prefix="", *, _internal=False):
        load(self, state_dict, prefix, _internal=_internal)
        now["loaded"] = 1

    def watched_pool(self, *args, **kwargs):
        now["pool shape"] = dict(inspect.signature(make_pool).bind(self, *args, **kwargs).arguments)
        make_pool(self, *args, **kwargs)
        now["pooled"] = 1

    def watched_graphs(self, *args, **kwargs):
        given = inspect.signature(make_graphs).bind(self, *args, **kwargs).arguments
        try:
            ctx = get_global_ctx()
        except RuntimeError:
            ctx = None
        missing = [name for name in ("kv_cache", "page_table", "attn_backend", "moe_backend") if not hasattr(ctx, name)]
        row = ctx.page_table[given["dummy_req"].table_idx] if "page_table" not in missing else []
        now["graphs"] = {
            "missing": missing, "dummy row": sorted({int(slot) for slot in row}), "columns": given["max_seq_len"], "vocab": given["vocab_size"],
            "dtype": str(given["dtype"]), "moe": given["is_moe"], "sizes": given["cuda_graph_bs"], "largest": given["cuda_graph_max_bs"],
        }  # fmt: skip
        make_graphs(self, *args, **kwargs)

    psutil.virtual_memory, BaseOP.load_state_dict = fake_memory, watched_load
    MHAKVCache.__init__, GraphRunner.__init__ = watched_pool, watched_graphs

    def describe(engine, config):
        pool, table, dummy = engine.kv_cache, engine.page_table, engine.dummy_req
        ctx = engine.ctx
        tp = try_get_tp_info()
        answer = {
            "device": str(engine.device), "dtype": str(engine.dtype), "stream": type(engine.stream).__name__, "num_pages": engine.num_pages,
            "pool": list(pool.k_cache(0).shape), "layers": pool.num_layers, "pool dtype": str(pool.dtype), "table": list(table.shape),
            "table dtype": str(table.dtype), "dummy": [dummy.table_idx, dummy.cached_len, dummy.device_len, dummy.uid],
            "dummy row": sorted({int(slot) for slot in table[dummy.table_idx]}), "rank": None if tp is None else [tp.rank, tp.size],
            "vocab": engine.sampler.vocab_size, "sampler seed": engine.sampler.seed, "threads": torch.get_num_threads(),
            "config": engine.config is config, "graphs": now.get("graphs"), "measured": now["measured"],
            "weights dtype": sorted({str(w.dtype) for w in engine.model.state_dict().values()}),
            "print": float(sum(w.double().abs().sum() for w in engine.model.state_dict().values())),
        }  # fmt: skip
        try:
            answer["global"] = get_global_ctx() is ctx
        except RuntimeError:
            answer["global"] = False
        for name in ("kv_cache", "page_table", "attn_backend"):
            answer[f"ctx.{name}"] = getattr(ctx, name, None) is getattr(engine, name)
        answer["ctx.moe_backend"] = type(ctx.moe_backend).__name__ if hasattr(ctx, "moe_backend") else "not set"
        answer["page size"] = ctx.page_size
        return answer

    def two_tokens(engine):
        """Two greedy tokens of each prompt."""
        reqs, total = [], 0
        for i, ids in enumerate(prompts):
            engine.page_table[i, : len(ids) + 2] = torch.arange(total, total + len(ids) + 2, dtype=torch.int32)
            total += len(ids) + 2
            reqs.append(Req(torch.tensor(ids, dtype=torch.int32), i, 0, 2, i, SamplingParams()))
        for phase in ("prefill", "decode"):
            batch = Batch(reqs, phase)
            out = engine.forward_batch(batch, engine.prepare_batch(batch))
            for req, token in zip(reqs, out.next_tokens_cpu.tolist()):
                req.append_host(token)
        return [req.input_ids[-2:].tolist() for req in reqs]

    answers = []
    for case in cases:
        now.update(memory=case.get("memory", 1 << 40), weights=case.get("weights", 0), pool=case.get("pool", 0), loaded=0, pooled=0, measured=[])
        now.pop("graphs", None)
        torch.rand(case.get("noise", 0))
        options = dict(case["options"])
        if "dtype" in options:
            options["dtype"] = getattr(torch, options["dtype"])
        config = EngineConfig(case["model"], **({"device": "cpu"} | options))
        try:
            engine = Engine(config)
        except NotImplementedError:
            raise
        except Exception as error:
            if not case.get("fails"):
                raise
            answers.append({"raised": type(error).__name__, "text": str(error), "left": try_get_tp_info() is not None})
            continue
        missing = [name for name in case["names"] if not hasattr(engine, name)]
        answer = {"missing": missing} | ({} if missing else describe(engine, config))
        if case.get("run") and not missing:
            answer["tokens"] = two_tokens(engine)
        if case.get("second"):
            try:
                Engine(config)
                answer["second"] = {}
            except NotImplementedError:
                raise
            except Exception as error:
                answer["second"] = {"raised": type(error).__name__, "text": str(error)}
        engine.shutdown()
        answers.append(answer)
    return answers


def two_ranks(model, memories, weights):
    """Two ranks in two processes, which find different amounts of free memory; what each of them decides."""
    import json
    import os
    import socket
    import types
    from pathlib import Path

    import psutil
    import torch

    import minisgl.engine.config as config_module
    from minisgl.distributed import DistributedInfo
    from minisgl.engine import EngineConfig
    from minisgl.engine.engine import Engine
    from minisgl.layers.base import BaseOP

    config_module.cached_load_hf_config = lambda path: types.SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    loaded = []
    load = BaseOP.load_state_dict

    def watched_load(self, state_dict, prefix="", *, _internal=False):
        load(self, state_dict, prefix, _internal=_internal)
        loaded.append(1)

    BaseOP.load_state_dict = watched_load

    def one_rank(rank):
        free = lambda: memories[rank] - (weights if loaded else 0)  # noqa: E731
        psutil.virtual_memory = lambda: types.SimpleNamespace(available=free())
        try:
            engine = Engine(EngineConfig(model, DistributedInfo(rank, 2), dtype=torch.float32, device="cpu", max_running_req=2, memory_ratio=0.75,
                                         page_size=4, distributed_port=port, distributed_timeout=8.0, cpu_threads=1))  # fmt: skip
            answer = {"num_pages": engine.num_pages, "heads": engine.kv_cache.k_cache(0).shape[2],
                      "weights": sum(w.numel() for w in engine.model.state_dict().values())}  # fmt: skip
            engine.shutdown()
            return answer
        except NotImplementedError:
            raise
        except BaseException as error:
            return {"raised": type(error).__name__, "text": str(error)[:200]}

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(one_rank(1)).encode())
        finally:
            os._exit(0)
    os.close(write)
    mine = one_rank(0)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return [mine, json.loads(text) if text else {"raised": "nothing came", "text": ""}]


# ---- inputs and expectations -------------------------------------------------------------------------------------


def case(tree, name, **more):
    keys = ("memory", "weights", "pool", "fails", "second", "run", "noise")
    extra = {key: more.pop(key) for key in keys if key in more}
    return {"model": tree.model(name), "name": name, "options": {"max_running_req": 3} | more, "names": NAMES} | extra


def page_bytes(name, page_size, size, ranks=1):
    layers, heads, head_dim = POOLS[name]
    return 2 * layers * page_size * (heads // ranks) * head_dim * size


def ready(got):
    for row in got:
        expect.that(not row.get("missing"), f"the engine has no {', '.join(row.get('missing', []))}", kind="mismatch")


# ---- tests -------------------------------------------------------------------------------------------------------


def test_everything_is_there(tree):
    """Pool, page table, dummy request, sampler and backends are as the docstring says, and the context has the same objects"""
    cases = [
        case(tree, "tiny-llama", dtype="float32", num_page_override=20, page_size=4, max_seq_len_override=40, cpu_threads=2, seed=7),
        case(tree, "tiny-qwen3", dtype="bfloat16", num_page_override=9, max_running_req=5, max_seq_len_override=64, moe_backend="unheard-of"),
        case(tree, "tiny-qwen3-moe", dtype="float32", num_page_override=5, page_size=16, cpu_threads=1, cuda_graph_bs=[1, 2], max_running_req=1),
    ]  # fmt: skip
    got = tree.run(bring_up, cases=cases)
    ready(got)
    for row, given, columns in zip(got, cases, (64, 64, 2048), strict=True):
        o, name = given["options"], given["name"]
        _, heads, head_dim = POOLS[name]
        page, pages, requests = o.get("page_size", 1), o["num_page_override"], o["max_running_req"]
        dtype = f"torch.{o['dtype']}"
        expect.equal(row["num_pages"], pages, f"engine.num_pages ({name})", suspects={"num-pages-with-the-dummy": pages + 1})
        expect.equal(row["pool"], [pages + 1, page, heads, head_dim], f"the shape of a layer's keys in the pool ({name})",
                     suspects={"pool-without-the-dummy-page": [pages, page, heads, head_dim]})  # fmt: skip
        want = [requests + 1, columns]
        length = o.get("max_seq_len_override", columns)
        unrounded = lambda shape, want=want, length=length: length % 32 and shape == [want[0], length]  # noqa: E731
        expect.equal(row["table"], want, f"the shape of the page table ({name})",
                     suspects={"table-without-the-dummy-row": [requests, columns], "table-not-rounded": unrounded})  # fmt: skip
        expect.equal([row["table dtype"], row["pool dtype"], row["dtype"], row["weights dtype"]], ["torch.int32", dtype, dtype, [dtype]],
                     f"the dtypes of page table, pool, engine and weights ({name})",
                     suspects={"dtype-of-the-config-ignored": lambda kinds: kinds[0] == "torch.int32" and kinds[1] != kinds[2]})  # fmt: skip
        expect.equal(row["dummy"], [requests, 0, 1, -1], f"table_idx, cached_len, device_len and uid of the dummy request ({name})")
        expect.equal(row["dummy row"], [pages * page], f"the slots in the dummy's row of the page table ({name})", suspects={
            "dummy-row-not-filled": [0], "page-number-in-the-dummy-row": [pages] if page > 1 else False,
            "dummy-row-counts-up": lambda slots: len(slots) > 1})  # fmt: skip
        expect.that(row["global"], "the engine's context is not the global one", mistake="context-not-global")
        for part in ("kv_cache", "page_table", "attn_backend"):
            expect.that(row[f"ctx.{part}"], f"ctx.{part} is not the engine's {part}", mistake="context-not-filled")
        expect.equal(row["ctx.moe_backend"], "NoneType", f"ctx.moe_backend ({name})", suspects={"context-not-filled": "not set"})
        expect.equal([row["vocab"], row["sampler seed"]], [512, o.get("seed", 42)], f"vocabulary and seed of the sampler ({name})",
                     suspects={"sampler-without-the-seed": lambda pair, o=o: pair[0] == 512 and o.get("seed", 42) != 42})  # fmt: skip
        expect.equal([row["device"], row["rank"], row["page size"]], ["cpu", [0, 1], page], f"device, rank and page size ({name})",
                     suspects={"rank-not-set": ["cpu", None, page]})  # fmt: skip
        expect.that(row["stream"] == "NullStream", f"engine.stream is a {row['stream']}; a NullStream is wanted on a CPU")
        expect.that(row["config"], "engine.config is not the given one")
        if "cpu_threads" in o:
            expect.equal(row["threads"], o["cpu_threads"], "PyTorch's number of threads", suspects={"threads-not-set": True})


def test_graphs_come_last(tree):
    """When the graph runner is made, context and dummy row are complete, and it gets the configuration's sizes"""
    cases = [
        case(tree, "tiny-llama", dtype="float32", num_page_override=6, page_size=4, max_seq_len_override=40, cuda_graph_bs=[]),
        case(tree, "tiny-qwen3-moe", dtype="float32", num_page_override=8, cuda_graph_bs=[2, 1], cuda_graph_max_bs=5),
    ]
    got = tree.run(bring_up, cases=cases)
    ready(got)
    for row, given, slot, columns in zip(got, cases, (24, 8), (64, 2048), strict=True):
        at = row["graphs"]
        expect.that(at is not None, "no GraphRunner was made")
        expect.that(not at["missing"], "the graph runner is made before the context is complete", [f"missing: {', '.join(at['missing'])}"], "graphs-too-early")
        expect.equal(at["dummy row"], [slot], "the dummy's row when the graph runner is made", suspects={"graphs-too-early": row["dummy row"] == [slot]})
        o = given["options"]
        want = [columns, 512, "torch.float32", "moe" in given["name"], o["cuda_graph_bs"], o.get("cuda_graph_max_bs")]
        got_values = [at[key] for key in ("columns", "vocab", "dtype", "moe", "sizes", "largest")]
        expect.equal(got_values, want, "max_seq_len, vocab_size, dtype, is_moe, cuda_graph_bs and cuda_graph_max_bs of the graph runner")


def test_memory_is_measured_around_the_weights(tree):
    """Free memory is measured before the weights and after them, before the pool: it decides how many pages there are"""
    size = page_bytes("tiny-llama", 4, 4)  # 2048 bytes
    limit = {"cpu_kv_cache_bytes": 1 << 40, "memory_ratio": 0.75, "page_size": 4, "max_seq_len_override": 32}
    cases = [
        case(tree, "tiny-llama", dtype="float32", memory=1_000_000, weights=400_000, pool=300_000, **limit),
        case(tree, "tiny-llama", dtype="bfloat16", memory=1_000_000, weights=0, pool=100_000, **limit),
        case(tree, "tiny-llama", dtype="float32", memory=1_000_000, weights=100_000, pool=100_000, **(limit | {"cpu_kv_cache_bytes": 50_000})),
        case(tree, "tiny-llama", dtype="float32", memory=100, weights=50, num_page_override=11, page_size=4),
    ]  # fmt: skip
    got = tree.run(bring_up, cases=cases)
    ready(got)
    plan = lambda before, after, size, limit=1 << 40: min(int(0.75 * before) - (before - after), limit) // size - 1  # noqa: E731
    want = [plan(1_000_000, 600_000, size), plan(1_000_000, 1_000_000, size // 2), plan(1_000_000, 900_000, size, 50_000), 11]
    suspects = {
        "measured-after-loading": [plan(600_000, 600_000, size), *want[1:]],
        "measured-once": [plan(1_000_000, 1_000_000, size), *want[1:]],
        "page-size-forgotten": lambda pages: pages[0] in (plan(1_000_000, 600_000, size // 4),),
        "dtype-of-the-config-ignored": lambda pages: pages[0] == want[0] and pages[1] == plan(1_000_000, 1_000_000, size),
        "limit-of-the-config-ignored": lambda pages: pages[:2] == want[:2] and pages[2] == plan(1_000_000, 900_000, size),
        "override-ignored": lambda pages: pages[:3] == want[:3],
    }
    expect.equal([row["num_pages"] for row in got], want, "engine.num_pages for four amounts of memory", suspects=suspects)
    expect.equal([row["pool"][0] for row in got], [n + 1 for n in want], "the pages of the pool")


def test_the_seed(tree):
    """The configuration's seed is set before the model is made: the same seed, the same random weights"""
    cases = [case(tree, "tiny-llama", dtype="float32", num_page_override=4, use_dummy_weight=True, max_seq_len_override=32, noise=n, seed=s)
             for n, s in ((3, 1), (11, 1), (5, 2), (1, 42))]  # fmt: skip
    got = tree.run(bring_up, cases=cases)
    ready(got)
    first, again, other, default = (row["print"] for row in got)
    expect.that(first == again, "two engines with seed 1 have different random weights", mistake="seed-forgotten")
    expect.that(len({first, other, default}) == 3, "engines with the seeds 1, 2 and 42 have equal random weights", mistake="seed-fixed")


def test_errors_and_what_they_leave(tree, oracle):
    """Errors come through and leave nothing behind; a second engine beside a living one is refused; then all works"""
    prompts = [list(map(int, ids)) for ids in oracle.ask(questions.encode, model="tiny-qwen3-moe", texts=PROMPTS)]
    answers = oracle.ask(questions.greedy, model="tiny-qwen3-moe", prompts=prompts, count=STEPS)
    fails = dict(dtype="float32", num_page_override=400, fails=True)
    cases = [
        case(tree, "tiny-llama", device="tpu-9", **fails), case(tree, "tiny-llama", attention_backend="unheard-of", **fails),
        case(tree, "tiny-qwen3-moe", moe_backend="unheard-of", **fails), case(tree, "tiny-llama", max_seq_len_override=10**6, **fails),
        case(tree, "tiny-llama", dtype="float32", memory=10_000, weights=9_000, fails=True),
        case(tree, "tiny-qwen3-moe", dtype="float32", num_page_override=400, max_running_req=8, second=True, run=True),
    ]  # fmt: skip
    got = tree.run(bring_up, cases=cases, prompts=prompts)
    kinds = ["ValueError", "KeyError", "KeyError", "ValueError", "ValueError"]
    whats = ["an unknown device", "an unknown attention backend", "an unknown MoE backend", "a sequence longer than the model's", "too little memory"]
    for row, kind, what in zip(got, kinds, whats, strict=False):
        expect.raised(row, kind, what=what)
        expect.that(not row["left"], f"{what} leaves the TP info behind")
    expect.raised(got[5]["second"], "RuntimeError", what="a second engine", mistake="rank-not-set")
    want = [[int(t) for t in answer["tokens"][:2]] for answer in answers]
    expect.equal(got[5].get("tokens"), want, "two greedy tokens of each prompt, after all these errors,")


def test_two_ranks_agree(tree):
    """Ranks meet before they measure, agree on the smallest memory, and each holds its share of weights and heads"""
    memories = [1_000_000, 700_000]
    got = tree.run(two_ranks, model=tree.model("tiny-llama"), memories=memories, weights=200_000)
    for rank, row in enumerate(got):
        expect.that("raised" not in row, f"rank {rank} of 2 raises {row.get('raised')}", [row.get("text", "")])
    size = page_bytes("tiny-llama", 4, 4, ranks=2)
    pages = [(int(0.75 * memory) - 200_000) // size - 1 for memory in memories]
    double = [(int(0.75 * memory) - 200_000) // (2 * size) - 1 for memory in memories]
    suspects = {"ranks-decide-alone": pages, "ranks-ignored": [double[1]] * 2}
    expect.equal([row["num_pages"] for row in got], [pages[1]] * 2, "the pages of two ranks with different memory", suspects=suspects)
    expect.equal([row["heads"] for row in got], [1, 1], "the KV heads of two ranks of a model with two", suspects={"rank-not-set": [2, 2]})
