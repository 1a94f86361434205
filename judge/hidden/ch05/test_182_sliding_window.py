"""Exercise 182: the sliding window: which keys are near enough, and which need not be read at all."""

import numpy as np

from judge import expect
from judge.hidden.ch05.test_181_paged_attention import run_or_explain

# queries, keys, window
MASKS = [(3, 7, 3), (4, 4, 2), (1, 9, 4), (5, 5, 1), (6, 10, 8), (2, 3, 100), (4, 12, 4), (1, 1, 1)]
FIRST = [
    (1, 11, 3), (1, 10, None), (3, 10, 4), (10, 10, 4), (1, 3, 3), (1, 4, 3), (2, 4, 3), (2, 5, 3), (4, 9, 1), (1, 9, 1), (1, 5, 100), (5, 5, None), (7, 20, 8),
    (1, 1, 1), (1, 5000, 4096), (200, 5000, 4096), (6, 9, 4),
]  # fmt: skip
HQ, HKV, DIM = 4, 2, 8
WINDOWS = [3, None, 4, 5, 100, 2]  # of the layers
REQUESTS = [(12, 11), (9, 5), (6, 0), (1, 0), (17, 8), (3, 2), (14, 12)]  # tokens, of which cached


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def window_masks(cases):
    import torch

    from minisgl.attention.torch_backend import window_mask

    return [window_mask(*case, torch.device("cpu")) for case in cases]


def first_keys(cases):
    from minisgl.attention.torch_backend import first_visible_key

    return [first_visible_key(*case) for case in cases]


def serve(case):
    """One batch through all layers, each with its window. The pool holds NaN where no query of the layer can look."""
    from types import SimpleNamespace

    import torch

    from minisgl.attention.torch_backend import TorchAttnBackend
    from minisgl.core import Batch, Context, Req, SamplingParams, set_global_ctx
    from minisgl.kvcache.mha_pool import MHAKVCache

    layers, slots, heads, dim = case["pool"].shape[1:]
    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    ctx.page_table = case["table"]
    ctx.kv_cache = MHAKVCache(heads, layers, dim, slots, 1, torch.float32, torch.device("cpu"))
    for layer in range(layers):
        ctx.kv_cache.k_cache(layer).copy_(case["pool"][0, layer][:, None])
        ctx.kv_cache.v_cache(layer).copy_(case["pool"][1, layer][:, None])
    backend = TorchAttnBackend(SimpleNamespace(head_dim=dim, num_qo_heads=case["q"].shape[2], num_kv_heads=heads, num_layers=layers))
    reqs = [Req(torch.zeros(t, dtype=torch.int32), row, c, 4, row, SamplingParams()) for row, (t, c) in enumerate(case["requests"])]
    batch = Batch(reqs, "prefill")
    batch.out_loc, batch.positions = case["out_loc"], batch.host_positions()
    backend.prepare_metadata(batch)
    with torch.inference_mode(), ctx.forward_batch(batch):
        return [backend.forward(case["q"][i], case["k"][i], case["v"][i], i, batch, window=w) for i, w in enumerate(case["windows"])]


# ---- what is right -------------------------------------------------------------------------------------------------


def distance(queries, keys):
    """How many tokens a key lies before a query; negative behind it."""
    return np.arange(keys - queries, keys)[:, None] - np.arange(keys)


def first_key(queries, keys, window):
    return 0 if window is None else max(0, keys - queries - (window - 1))


def make_case(seed):
    rng = np.random.default_rng(seed)
    width = max(t for t, _ in REQUESTS)
    table = rng.permutation(len(REQUESTS) * width).reshape(-1, width).astype(np.int32)
    count = sum(t - c for t, c in REQUESTS)
    numbers = lambda *shape: rng.normal(0, 1, shape).astype(np.float32)  # noqa: E731
    pool = numbers(2, len(WINDOWS), table.size, HKV, DIM)
    for layer, window in enumerate(WINDOWS):
        for row, (tokens, cached) in enumerate(REQUESTS):
            pool[:, layer, table[row, : first_key(tokens - cached, tokens, window)]] = np.nan
    return {
        "table": table,
        "pool": pool,
        "requests": REQUESTS,
        "windows": WINDOWS,
        "out_loc": np.concatenate([table[row, c:t] for row, (t, c) in enumerate(REQUESTS)]),
        "q": numbers(len(WINDOWS), count, HQ, DIM) * 2,
        "k": numbers(len(WINDOWS), count, HKV, DIM),
        "v": numbers(len(WINDOWS), count, HKV, DIM),
    }


def attention(case, layer):
    """[packed tokens, heads, dim] of one layer in float64, request by request."""
    window, start, parts = case["windows"][layer], 0, []
    kv = case["pool"][:, layer].astype(np.float64)
    kv[:, case["out_loc"]] = case["k"][layer], case["v"][layer]
    for row, (tokens, cached) in enumerate(case["requests"]):
        n = tokens - cached
        first = first_key(n, tokens, window)
        keys, values = np.repeat(kv[:, case["table"][row, first:tokens]], HQ // HKV, axis=2)
        age = distance(n, tokens)[:, first:]
        scores = np.einsum("qhd,khd->hqk", case["q"][layer, start : start + n].astype(np.float64), keys) / np.sqrt(DIM)
        scores = np.where((age >= 0) & (age < (window or tokens)), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        parts.append(np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), values))
        start += n
    return np.concatenate(parts)


# ---- tests -------------------------------------------------------------------------------------------------------


def test_the_window(tree):
    """window_mask is True where a key is less than `window` tokens before its query; a query is 0 tokens from itself"""
    got = tree.run(window_masks, cases=MASKS)

    def always(make):
        wanted = [make(*case) for case in MASKS]
        return all(isinstance(g, np.ndarray) and g.shape == w.shape and np.array_equal(g.astype(bool), w) for g, w in zip(got, wanted, strict=True))

    square = lambda n, m: np.arange(n)[:, None] - np.arange(m)  # noqa: E731
    suspects = {
        "window-one-key-more": always(lambda n, m, w: distance(n, m) <= w),
        "window-one-key-fewer": always(lambda n, m, w: distance(n, m) < w - 1),
        "window-at-the-wrong-end": always(lambda n, m, w: -distance(n, m) < w),
        "window-from-the-start": always(lambda n, m, w: square(n, m) < w),
        "window-to-both-sides": always(lambda n, m, w: np.abs(distance(n, m)) < w),
        "future-hidden-too": always(lambda n, m, w: (distance(n, m) < w) & (distance(n, m) >= 0)),
        "true-means-hidden": always(lambda n, m, w: distance(n, m) >= w),
        "window-ignored": always(lambda n, m, w: np.ones((n, m), bool)),
    }
    for mask, (n, m, window) in zip(got, MASKS, strict=True):
        name = f"window_mask({n}, {m}, {window})"
        expect.close(mask, distance(n, m) < window, atol=0.0, name=name, axes=("query", "key"), dtype="bool", suspects=suspects)


def test_the_first_key(tree):
    """first_visible_key is the oldest key of the first query, not below 0, and 0 without a window; also for a single query"""
    got = tree.run(first_keys, cases=FIRST)

    def always(make):
        return got == [0 if w is None else make(n, m, w) for n, m, w in FIRST]

    suspects = {
        "first-key-one-too-late": always(lambda n, m, w: max(0, m - n - w + 2)),
        "first-key-one-too-early": always(lambda n, m, w: max(0, m - n - w)),
        "first-key-of-the-last-query": always(lambda n, m, w: max(0, m - w)),
        "first-key-below-zero": always(lambda n, m, w: m - n - w + 1),
        "window-ignored-in-decode": always(lambda n, m, w: 0 if n == 1 else max(0, m - n - w + 1)),
        "far-keys-read": always(lambda n, m, w: 0),
    }
    for case, answer in zip(FIRST, got, strict=True):
        expect.that(not isinstance(answer, (float, np.ndarray)), f"first_visible_key{case} is no int; it is used as an index", kind="type")
        expect.equal(answer, first_key(*case), f"first_visible_key{case}", suspects=suspects)


def explain(tree):
    test_the_first_key(tree)
    test_the_window(tree)


def run(tree, seeds):
    cases = [make_case(seed) for seed in seeds]
    return cases, [run_or_explain(tree, serve, explain, case=case) for case in cases]


def compare(tree, seeds, wanted, what):
    ends = np.cumsum([t - c for t, c in REQUESTS])
    rows = np.concatenate([np.arange(end - (t - c), end) for end, (t, c) in zip(ends, REQUESTS, strict=True) if wanted(t - c)])
    for case, outs in zip(*run(tree, seeds), strict=True):
        for layer, window in enumerate(WINDOWS):
            count = len(case["out_loc"])
            got = expect.is_tensor(outs[layer], "the attention", shape=(count, HQ, DIM), dtype="float32")[rows]
            want = attention(case, layer)[rows].astype(np.float32)
            name = f"{what} with window {window}"
            expect.close(got, want, atol=2e-5, name=name, axes=("query", "head", "feature"))


def test_prompts(tree, seeds):
    """Prompts, new or with a cached prefix, attend within the window, and keys that no query sees are not read"""
    compare(tree, seeds, lambda queries: queries > 1, "the attention of prompts")


def test_decode(tree, seeds):
    """A decode step attends to the last `window` keys, its own included, and reads no others"""
    compare(tree, seeds, lambda queries: queries == 1, "the attention of decode steps")
