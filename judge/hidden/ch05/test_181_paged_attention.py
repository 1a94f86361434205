"""Exercise 181: one layer's attention over the paged pool, for prompts with and without a cached prefix and for decode."""

import weakref

import numpy as np

from judge import expect
from judge.sandbox import ProbeFailed

HQ, HKV, DIM, LAYERS, WINDOW = 6, 2, 8, 3, 3
# (tokens, cached, whose prefix it shares or None); the last token of a prompt is always computed, so never all cached
REQUESTS = [(6, 0, None), (7, 4, None), (9, 8, None), (1, 0, None), (9, 8, 2), (16, 3, None), (16, 15, None), (5, 2, 1)]
PAGE_SIZES = (1, 4, 16)
# queries, keys, query heads, KV heads, mask ("end": causal, aligned to the end; "holes": any; None), is_causal
ATTENDS = [
    (4, 4, 6, 2, None, True), (3, 7, 6, 2, "end", False), (1, 5, 6, 2, None, False), (1, 6, 4, 2, "holes", False), (3, 5, 8, 2, None, False),
    (5, 5, 4, 4, "holes", False), (1, 1, 4, 1, None, False), (6, 9, 4, 1, "end", False), (2, 2, 8, 4, None, True), (1, 1, 6, 2, None, True),
    (4, 4, 6, 2, None, False),
]  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def masks(sizes):
    import torch

    from minisgl.attention.torch_backend import causal_mask

    return [causal_mask(queries, keys, torch.device("cpu")) for queries, keys in sizes]


def attends(cases, dtype):
    """attend(q, k, v, mask, is_causal, scale) of each case, and whether what went in is as before."""
    import torch

    from minisgl.attention.torch_backend import attend

    found = []
    for case in cases:
        given = [case[name].to(getattr(torch, dtype)) for name in "qkv"]
        mask = case["mask"]
        before = [x.clone() for x in given]
        out = attend(*given, mask, case["is_causal"], case["scale"])
        found.append({"out": out, "kept": all(torch.equal(a, b) for a, b in zip(given, before, strict=True))})
    return found


def serve(cases, dtype):
    """A batch for each case goes through all layers; the pool is filled beforehand, so cached tokens have keys and values."""
    from types import SimpleNamespace

    import torch

    import minisgl.attention.torch_backend as module
    from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
    from minisgl.kvcache.mha_pool import MHAKVCache

    dtype, calls = getattr(torch, dtype), {"prepare": 0, "plan": 0}

    def counted(name, function):
        def wrapped(*args, **kwargs):
            calls[name] += 1
            return function(*args, **kwargs)

        return wrapped

    module.TorchAttnBackend.prepare_metadata = counted("prepare", module.TorchAttnBackend.prepare_metadata)
    module.plan_request = counted("plan", module.plan_request)
    found = []
    for case in cases:
        layers, slots, heads, dim = case["pool"].shape[1:]
        size = case["page_size"]
        ctx = Context(page_size=size)
        set_global_ctx(ctx)
        ctx.page_table = case["table"].clone()
        ctx.kv_cache = MHAKVCache(heads, layers, dim, slots // size, size, dtype, torch.device("cpu"))
        for layer in range(layers):
            ctx.kv_cache.k_cache(layer).copy_(case["pool"][0, layer].view(-1, size, heads, dim))
            ctx.kv_cache.v_cache(layer).copy_(case["pool"][1, layer].view(-1, size, heads, dim))
        config = SimpleNamespace(head_dim=dim, num_qo_heads=case["q"].shape[2], num_kv_heads=heads, num_layers=layers)
        ctx.attn_backend = module.TorchAttnBackend(config)
        reqs = [
            Req(torch.zeros(tokens, dtype=torch.int32), row, cached, 4, row, SamplingParams())
            for row, (tokens, cached) in zip(case["rows"], case["requests"], strict=True)
        ]
        batch = Batch(reqs, "prefill")
        batch.input_ids = torch.zeros(len(case["out_loc"]), dtype=torch.int32)
        batch.positions, batch.out_loc = case["positions"].clone(), case["out_loc"].clone()
        ctx.attn_backend.prepare_metadata(batch)
        calls.update(prepare=0, plan=0)
        outs, changed = [], []
        with torch.inference_mode(), ctx.forward_batch(batch):
            for layer in range(layers):
                given = [case[name][layer].to(dtype) for name in "qkv"]
                before = [x.clone() for x in given]
                outs.append(ctx.attn_backend.forward(*given, layer, batch, window=case["windows"][layer]))
                changed += [name for name, a, b in zip("qkv", given, before, strict=True) if not torch.equal(a, b)]
        flat = [[cache(layer).flatten(0, 1).clone() for layer in range(layers)] for cache in (ctx.kv_cache.k_cache, ctx.kv_cache.v_cache)]
        stable = bool(torch.equal(ctx.page_table, case["table"]) and torch.equal(batch.out_loc, case["out_loc"]))
        found.append({"outs": outs, "changed": changed, "stable": stable, "k": torch.stack(flat[0]), "v": torch.stack(flat[1]), "calls": dict(calls)})
        reset_global_ctx()
    return found


# ---- what is right, and what known mistakes give -------------------------------------------------------------------


def causal(queries, keys, ahead=0):
    return np.arange(keys) <= np.arange(keys - queries, keys)[:, None] + ahead


def dense(q, k, v, mask, scale, share="repeat"):
    """Textbook attention in float64: q [n, Hq, D], k and v [m, Hkv, D], mask [n, m]. A query that sees nothing gets NaN."""
    group = q.shape[1] // k.shape[1]
    spread = (lambda x: np.repeat(x, group, axis=1)) if share == "repeat" else lambda x: np.tile(x, (1, group, 1))
    q, k, v = (np.asarray(x, np.float64) for x in (q, spread(k), spread(v)))
    scores = np.where(mask, np.einsum("qhd,khd->hqk", q, k) * scale, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


def explains(got, alternative, atol):
    """Is `got` the alternative, where that is known (not NaN)? Both are lists of arrays."""
    if not all(isinstance(g, np.ndarray) and g.shape == a.shape for g, a in zip(got, alternative, strict=True)):
        return False
    known = [~np.isnan(a) for a in alternative]
    return all(np.allclose(g[k], a[k], rtol=0, atol=atol) for g, a, k in zip(got, alternative, known, strict=True))


def make_case(seed, page_size):
    rng = np.random.default_rng([seed, page_size])
    pages = rng.permutation(100 if page_size == 1 else 40).astype(np.int32)
    slots, width, taken = len(pages) * page_size, 20, 0
    rows = rng.permutation(len(REQUESTS) + 2)[: len(REQUESTS)].tolist()
    table = rng.integers(0, slots, (len(REQUESTS) + 2, width)).astype(np.int32)
    own = []
    for (tokens, cached, friend), row in zip(REQUESTS, rows, strict=True):
        need = -(-tokens // page_size)
        shared = own[friend][: cached // page_size] if friend is not None else []
        mine = [*shared, *pages[taken : taken + need - len(shared)]]
        taken += need - len(shared)
        own.append(mine)
        table[row, :tokens] = (np.asarray(mine)[:, None] * page_size + np.arange(page_size)).reshape(-1)[:tokens]
    count = sum(tokens - cached for tokens, cached, _ in REQUESTS)
    numbers = lambda *shape: rng.normal(0, 1, shape).astype(np.float32)  # noqa: E731
    return {
        "page_size": page_size,
        "table": table,
        "rows": rows,
        "requests": [[tokens, cached] for tokens, cached, _ in REQUESTS],
        "positions": np.concatenate([np.arange(c, t) for t, c, _ in REQUESTS]).astype(np.int32),
        "out_loc": np.concatenate([table[row, c:t] for row, (t, c, _) in zip(rows, REQUESTS, strict=True)]),
        "pool": numbers(2, LAYERS, slots, HKV, DIM),
        "q": numbers(LAYERS, count, HQ, DIM) * 2,
        "k": numbers(LAYERS, count, HKV, DIM),
        "v": numbers(LAYERS, count, HKV, DIM),
        "windows": [None, WINDOW, None],
    }


def simulate(case, *, store="first", read="slots", share="repeat", mask=causal, scale=DIM**-0.5, layer_read="own", windows=True, kernel_mask=True, place="own"):
    """The outputs of all layers, right or with a mistake.

    store: when or where the new keys and values go ("first", "never", "positions"). read: "slots", "in a row" (behind the first one), "new" (only
    what is computed now) or "table order" (rows of the table as in the batch). kernel_mask: without a prefix the kernel knows the mask itself.
    """
    pool, outs = case["pool"].astype(np.float64), []
    for layer in range(LAYERS):
        new = np.stack([case["k"][layer], case["v"][layer]])
        if store == "first":
            pool[:, layer, case["out_loc"]] = new
        if store == "positions":
            pool[:, layer, case["positions"]] = new
        kv = pool[:, layer if layer_read == "own" else 0]
        window, start, parts = case["windows"][layer] if windows else None, 0, []
        for index, (row, (tokens, cached)) in enumerate(zip(case["rows"], case["requests"], strict=True)):
            n = tokens - cached
            slots = case["table"][index if read == "table order" else row, :tokens]
            if read == "in a row":
                slots = np.minimum(slots[0] + np.arange(tokens), kv.shape[1] - 1)
            keys, values = kv[:, slots]
            if read == "new":
                keys, values = new[:, start : start + n]
            first = 0 if window is None else max(0, len(keys) - n - (window - 1))
            keys, values = keys[first:], values[first:]
            m = len(keys)
            seen = np.ones((1, m), bool) if n == 1 else causal(n, m) if n == m and (window is None or window >= m) and kernel_mask else mask(n, m)
            if window is not None and n > 1:
                seen = seen & (np.arange(m - n, m)[:, None] - np.arange(m) < window)
            parts.append(dense(case["q"][layer, start : start + n], keys, values, seen, scale, share))
            start += n
        if place == "sorted":
            parts = sorted(parts, key=len)
        if place == "reversed":
            parts = parts[::-1]
        outs.append(np.concatenate(parts))
    return outs


MISTAKES = {
    "no-mask": [{"mask": lambda n, m: np.ones((n, m), bool)}, {"mask": lambda n, m: np.ones((n, m), bool), "kernel_mask": False}],
    "mask-skipped-with-a-cache": [{"mask": lambda n, m: np.ones((n, m), bool) if m > n else causal(n, m)}],
    "mask-aligned-to-the-start": [{"mask": lambda n, m: np.tril(np.ones((n, m), bool))}],
    "sees-one-key-more": [{"mask": lambda n, m: causal(n, m, 1)}, {"mask": lambda n, m: causal(n, m, 1), "kernel_mask": False}],
    "sees-one-key-fewer": [{"mask": lambda n, m: causal(n, m, -1)}, {"mask": lambda n, m: causal(n, m, -1), "kernel_mask": False}],
    "kv-heads-tiled": [{"share": "tile"}],
    "scale-missing": [{"scale": 1.0}],
    "scale-twice": [{"scale": 1 / DIM}],
    "scale-of-the-wrong-size": [{"scale": HQ**-0.5}, {"scale": HKV**-0.5}, {"scale": (HQ * DIM) ** -0.5}],
    "stored-after-reading": [{"store": "never"}],
    "stored-at-the-positions": [{"store": "positions"}],
    "layer-zero-read": [{"layer_read": "zero"}],
    "read-in-a-row": [{"read": "in a row"}],
    "prefix-not-read": [{"read": "new"}],
    "rows-in-batch-order": [{"read": "table order"}],
    "window-not-passed": [{"windows": False}],
    "outputs-in-another-order": [{"place": "sorted"}, {"place": "reversed"}],
}

def run_or_explain(tree, probe, explain, **inputs):
    """The probe's evidence. Where it raises, a check of the parts may say why: that is the plainer finding."""
    try:
        return tree.run(probe, **inputs)
    except ProbeFailed as failure:
        if failure.status == "error":
            explain(tree)
        raise


ANSWERS = weakref.WeakKeyDictionary()


def served(tree, seeds):
    """The cases, and what the learner's backend made of them in one process."""
    if tree not in ANSWERS:
        cases = [make_case(seed, size) for seed in seeds for size in PAGE_SIZES]
        ANSWERS[tree] = cases, run_or_explain(tree, serve, test_the_mask, cases=cases, dtype="float32")
    return ANSWERS[tree]


def title(case, layer):
    window = case["windows"][layer]
    return f"the attention of layer {layer} ({f'window {window}, ' if window else ''}page size {case['page_size']})"


def attend_cases():
    rng, cases = np.random.default_rng(7), []
    for n, m, heads, groups, kind, is_causal in ATTENDS:
        mask = {None: None, "end": causal(n, m)}.get(kind, rng.random((n, m)) < 0.5)
        if kind == "holes":
            mask[np.arange(n), rng.integers(0, m, n)] = True
        q, k, v = (rng.normal(0, 1.5, (rows, h, DIM)).astype(np.float32) for rows, h in ((n, heads), (m, groups), (m, groups)))
        cases.append({"q": q, "k": k, "v": v, "mask": mask, "is_causal": is_causal, "scale": 0.19})
    return cases


def attended(case, *, scale=None, share="repeat", masked=True, kernel=True, cached=True):
    n, m = len(case["q"]), len(case["k"])
    seen = np.ones((n, m), bool)
    if case["mask"] is not None and masked and (cached or m == n):
        seen = case["mask"]
    if case["is_causal"] and kernel:
        seen = causal(n, m)
    return dense(case["q"], case["k"], case["v"], seen, case["scale"] if scale is None else scale, share)


ATTEND_MISTAKES = {
    "kv-heads-tiled": {"share": "tile"},
    "scale-missing": {"scale": 1.0},
    "scale-by-default": {"scale": DIM**-0.5},
    "scale-twice": {"scale": 0.19**2},
    "scale-divides": {"scale": 1 / 0.19},
    "no-mask": {"masked": False, "kernel": False},
    "mask-skipped-with-a-cache": {"cached": False},
    "mask-not-passed": {"masked": False},
    "is-causal-not-passed": {"kernel": False},
}


# ---- tests -------------------------------------------------------------------------------------------------------


def test_the_mask(tree):
    """causal_mask is [queries, keys], True = visible; the queries are the last of the tokens and see themselves and all before"""
    sizes = [(3, 7), (1, 6), (4, 4), (5, 6), (1, 1), (2, 17), (7, 7), (16, 33)]
    got = tree.run(masks, sizes=sizes)

    def always(make):
        wanted = [make(n, m) for n, m in sizes]
        return all(isinstance(g, np.ndarray) and g.shape == w.shape and np.array_equal(g.astype(bool), w) for g, w in zip(got, wanted, strict=True))

    suspects = {
        "no-mask": always(lambda n, m: np.ones((n, m), bool)),
        "mask-skipped-with-a-cache": always(lambda n, m: np.ones((n, m), bool) if m > n else causal(n, m)),
        "mask-aligned-to-the-start": always(lambda n, m: np.tril(np.ones((n, m), bool))),
        "sees-one-key-more": always(lambda n, m: causal(n, m, 1)),
        "sees-one-key-fewer": always(lambda n, m: causal(n, m, -1)),
        "mask-square": always(lambda n, m: causal(n, n)) or always(lambda n, m: causal(m, m)),
        "true-means-hidden": always(lambda n, m: ~causal(n, m)),
        "mask-transposed": always(lambda n, m: causal(n, m).T),
    }
    for mask, (n, m) in zip(got, sizes, strict=True):
        name = f"causal_mask({n}, {m})"
        expect.close(mask, causal(n, m), atol=0.0, name=name, axes=("query", "key"), dtype="bool", suspects=suspects)


def test_one_request(tree):
    """attend computes softmax(q k^T * scale) v over the visible keys, and query head h reads KV head h // (Hq / Hkv)"""
    cases = attend_cases()
    got = tree.run(attends, cases=cases, dtype="float32")
    outs = [answer["out"] for answer in got]
    suspects = {m: explains(outs, [attended(c, **how) for c in cases], 1e-4) for m, how in ATTEND_MISTAKES.items()}
    for case, answer in zip(cases, got, strict=True):
        (n, heads, _), (m, groups, _) = case["q"].shape, case["k"].shape
        name = f"attend of {n} queries with {heads} heads and {m} keys with {groups} heads"
        want = attended(case).astype(np.float32)
        expect.close(answer["out"], want, atol=2e-5, name=name, axes=("query", "head", "feature"), dtype="float32", suspects=suspects)
        expect.that(answer["kept"], f"{name} has changed its inputs")


def test_a_mixed_batch(tree, seeds):
    """New prompts, cached prefixes and decode steps in one batch, in scattered pages of 1, 4 and 16: each attends to its own tokens"""
    cases, found = served(tree, seeds)
    outs = [out for answer in found for out in answer["outs"]]
    rights = [simulate(case) for case in cases]

    def suspect(variants):
        return lambda _: any(explains(outs, [out for case in cases for out in simulate(case, **how)], 1e-4) for how in variants)

    untouched = all(np.array_equal(np.stack([a["k"], a["v"]]), case["pool"]) for case, a in zip(cases, found, strict=True))
    never = {"never-stored": lambda _: untouched and suspect(MISTAKES["stored-after-reading"])(_)}
    suspects = never | {mistake: suspect(variants) for mistake, variants in MISTAKES.items()}
    for case, answer, right in zip(cases, found, rights, strict=True):
        for layer, (got, want) in enumerate(zip(answer["outs"], right, strict=True)):
            axes = ("packed token", "head", "feature")
            expect.close(got, want.astype(np.float32), atol=2e-5, name=title(case, layer), axes=axes, dtype="float32", suspects=suspects)


def test_what_is_stored(tree, seeds):
    """The new keys and values are in the layer's slots out_loc afterwards, and no other slot has changed"""
    cases, found = served(tree, seeds)

    def pool(case, where):
        wanted = case["pool"].copy()
        for layer in range(LAYERS):
            if where is not None:
                wanted[:, layer, case[where]] = [case["k"][layer], case["v"][layer]]
        return wanted

    def always(make):
        return all(np.array_equal(np.stack([a["k"], a["v"]]), make(case)) for case, a in zip(cases, found, strict=True))

    suspects = {
        "never-stored": always(lambda case: pool(case, None)),
        "stored-at-the-positions": always(lambda case: pool(case, "positions")),
        "keys-and-values-swapped": always(lambda case: np.where((pool(case, "out_loc") != case["pool"]), pool(case | {"k": case["v"], "v": case["k"]}, "out_loc"), case["pool"])),
    }
    for case, answer in zip(cases, found, strict=True):
        for index, part in enumerate("kv"):
            name = f"the pool's {'keys' if part == 'k' else 'values'} after the batch (page size {case['page_size']})"
            expect.close(answer[part], pool(case, "out_loc")[index], atol=0.0, name=name, axes=("layer", "slot", "head", "feature"), suspects=suspects)


def test_once_per_batch(tree, seeds):
    """The layers look the batch's metadata up and do not make it again; what they are given stays as it is"""
    for answer in served(tree, seeds)[1]:
        made, plans = answer["calls"]["prepare"], answer["calls"]["plan"]
        told = [f"{LAYERS} layers: prepare_metadata was called {made} times, plan_request {plans} times for {len(REQUESTS)} requests"]
        fine = made == 0 and plans <= 2 * len(REQUESTS)
        expect.that(fine, "forward works the metadata out again in every layer", told, mistake="metadata-in-every-layer")
        changed, told = answer["changed"], "forward has changed what belongs to its caller"
        expect.that(not changed, told, [", ".join(sorted(set(changed)))], mistake="result-over-q" if changed == ["q"] * LAYERS else None)
        expect.that(answer["stable"], "forward has changed the page table or out_loc")


def test_bfloat16(tree):
    """In bfloat16 the result is bfloat16, and right within its precision"""
    cases = [make_case(3, 4)]
    (answer,) = run_or_explain(tree, serve, test_the_mask, cases=cases, dtype="bfloat16")
    for layer, (got, want) in enumerate(zip(answer["outs"], simulate(cases[0]), strict=True)):
        expect.close(got, want, atol=0.12, name=title(cases[0], layer) + " in bfloat16", axes=("packed token", "head", "feature"))
        expect.is_tensor(got, "the attention's result with bfloat16 inputs", dtype="bfloat16")
    (answer,) = tree.run(attends, cases=attend_cases()[1:2], dtype="bfloat16")
    expect.is_tensor(answer["out"], "attend's result with bfloat16 inputs", dtype="bfloat16")
