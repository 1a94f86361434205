"""Exercise 132: attention with a KV cache."""

import numpy as np

from judge import expect

MISTAKES = (
    "kv-heads-tiled", "first-kv-head-for-all", "no-causal-mask", "mask-aligned-to-the-start", "mask-left-out-behind-a-cache", "own-key-hidden",
    "next-key-seen", "not-scaled", "scaled-by-head-size", "masked-with-zero", "masked-after-softmax", "softmax-over-queries", "softmax-over-heads",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def attend(cases, dtype="float32"):
    """attention of each case, and whether its arguments are what they were."""
    import torch

    from tiny_engine import attention

    rows = []
    for case in cases:
        given = [case[name].to(getattr(torch, dtype)) for name in ("q", "k", "v")]
        before = [tensor.clone() for tensor in given]
        out = attention(*given)
        rows.append({"out": out, "kept": all(torch.equal(a, b) for a, b in zip(given, before, strict=True))})
    return rows


def fill(num_layers, calls):
    """A cache after each call of extend (layer, k, v): what came back, what each layer holds, the length."""
    from tiny_engine import KVCache

    cache, rows = KVCache(num_layers), []
    for layer, k, v in calls:
        k_before, v_before = k.clone(), v.clone()
        returned = cache.extend(layer, k, v)
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2
        rows.append({
            "k": returned[0] if pair else None, "v": returned[1] if pair else None, "pair": pair,
            "keys": [None if t is None else t.clone() for t in cache.keys], "values": [None if t is None else t.clone() for t in cache.values],
            "length": cache.length, "kept": bool((k == k_before).all() and (v == v_before).all()),
        })  # fmt: skip
    return rows


def two_caches(first, second):
    """Two requests take turns; what each cache holds in the end."""
    from tiny_engine import KVCache

    caches = [KVCache(1), KVCache(1)]
    for pieces in zip(first, second):
        for cache, (k, v) in zip(caches, pieces):
            cache.extend(0, k, v)
    return [{"k": cache.keys[0], "v": cache.values[0]} for cache in caches]


def in_pieces(q, k, v, pieces):
    """One sequence, run piece by piece through the cache: the attention of every token."""
    import torch

    from tiny_engine import KVCache, attention

    cache, outputs, start = KVCache(2), [], 0
    for size in pieces:
        rows = slice(start, start + size)
        keys, values = cache.extend(1, k[rows], v[rows])
        outputs.append(attention(q[rows], keys, values))
        start += size
    return {"out": torch.cat(outputs)}


# ---- questions ---------------------------------------------------------------------------------------------------


def hugging_face(cases):
    """Hugging Face's eager attention, with a causal mask whose last row is the newest token."""
    from types import SimpleNamespace

    import torch
    from transformers.models.llama.modeling_llama import eager_attention_forward

    outputs = []
    for case in cases:
        q, k, v = (case[name].transpose(0, 1)[None] for name in ("q", "k", "v"))
        new, size = q.shape[2], k.shape[2]
        mask = torch.full((new, size), float("-inf")).triu(size - new + 1)
        module = SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False)
        outputs.append(eager_attention_forward(module, q, k, v, mask[None, None], scaling=q.shape[-1] ** -0.5)[0][0])
    return outputs


# ---- inputs and expectations -------------------------------------------------------------------------------------


def definition(case, mistake=None):
    """Attention in float64, or what a known mistake makes of it."""
    q, k, v = (np.asarray(case[name], np.float64) for name in ("q", "k", "v"))
    (T, N, D), (S, K, _) = q.shape, k.shape
    if mistake == "kv-heads-tiled":
        pick = np.arange(N) % K
    elif mistake == "first-kv-head-for-all":
        pick = np.zeros(N, int)
    else:
        pick = np.arange(N) // (N // K)
    k, v = k[:, pick], v[:, pick]
    scale = {"not-scaled": 1.0, "scaled-by-head-size": 1 / D}.get(mistake, D**-0.5)
    scores = np.einsum("tnd,snd->nts", q, k) * scale
    last = np.arange(T) + (0 if mistake == "mask-aligned-to-the-start" else S - T)
    last = last + {"own-key-hidden": -1, "next-key-seen": 1}.get(mistake, 0)
    hidden = np.arange(S) > last[:, None]
    if mistake == "no-causal-mask" or (mistake == "mask-left-out-behind-a-cache" and S > T):
        hidden = np.zeros((T, S), bool)
    if mistake == "masked-with-zero":
        scores = np.where(hidden, 0, scores)
    elif mistake != "masked-after-softmax":
        scores = np.where(hidden, -np.inf, scores)
    axis = {"softmax-over-queries": 1, "softmax-over-heads": 0}.get(mistake, 2)
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max(axis, keepdims=True))
        probs = e / e.sum(axis, keepdims=True)
    if mistake == "masked-after-softmax":
        probs = np.where(hidden, 0, probs)
    return np.einsum("nts,snd->tnd", probs, v)


def a_case(rng, new, size, heads, kv_heads, dim):
    shapes = {"q": (new, heads, dim), "k": (size, kv_heads, dim), "v": (size, kv_heads, dim)}
    return {name: (rng.normal(0, 1.2, shape)).astype(np.float32) for name, shape in shapes.items()}


def same_outputs(got, want, cases, atol=2e-5):
    """Outputs equal `want`; a known mistake is named only if it explains all cases."""

    def explains(mistake):
        for row, case in zip(got, cases, strict=True):
            found, other = np.asarray(row["out"]), definition(case, mistake)
            if found.shape != other.shape or not np.allclose(found, other, atol=10 * atol, equal_nan=True):
                return False
        return True

    suspects = {mistake: (lambda _, m=mistake: explains(m)) for mistake in MISTAKES}
    for row, right, case in zip(got, want, cases, strict=True):
        (T, N, D), (S, K, _) = case["q"].shape, case["k"].shape
        name = f"the attention of {T} new of {S} tokens ({N} heads, {K} KV heads of size {D})"
        expect.close(row["out"], right, atol=atol, name=name, axes=("token", "head", "channel"), dtype="float32", suspects=suspects)


def layers_of(calls, num_layers, mistake=None):
    """For each call of extend: what it must return, and what the layers hold afterwards; or what a known mistake makes of it."""
    held, rows = [None] * num_layers, []
    for layer, k, v in calls:
        place = 0 if mistake == "one-place-for-all-layers" else layer
        old = held[place]
        if mistake == "values-are-keys":
            v = k
        whole = (k, v)
        if old:
            pairs = zip((k, v), old, strict=True) if mistake == "newest-first" else zip(old, (k, v), strict=True)
            whole = tuple(np.concatenate(pair) for pair in pairs)
        held[place] = None if mistake == "nothing-stored" else (k, v) if mistake == "old-tokens-lost" else whole
        out = (old or (k, v)) if mistake == "old-ones-returned" else (k, v) if mistake in ("only-new-returned", "old-tokens-lost") else whole
        rows.append({"k": out[0], "v": out[1], "held": list(held)})
    return rows


def cache_suspects(got, calls, num_layers):
    """Known mistakes that explain all that came back and all that the layers hold."""

    def explains(mistake):
        for row, other in zip(got, layers_of(calls, num_layers, mistake), strict=True):
            held = [pair or (None, None) for pair in other["held"]]
            pairs = [(row["k"], other["k"]), (row["v"], other["v"])]
            pairs += [(row[name][i], pair[at]) for at, name in enumerate(("keys", "values")) for i, pair in enumerate(held)]
            if not all(a is None if b is None else same(a, b) for a, b in pairs):
                return False
        return True

    def stores_nothing(_):
        return all(t is None for row in got for t in row["keys"] + row["values"])

    return {mistake: (lambda _, m=mistake: explains(m)) for mistake in CACHE_MISTAKES} | {"nothing-stored": stores_nothing}


CACHE_MISTAKES = (
    "newest-first", "values-are-keys", "one-place-for-all-layers", "old-tokens-lost", "only-new-returned", "old-ones-returned",
)  # fmt: skip


def same(a, b):
    return isinstance(a, np.ndarray) and a.shape == b.shape and bool((np.asarray(a) == b).all())


# ---- tests -------------------------------------------------------------------------------------------------------


def test_extend(tree, rng):
    """extend puts the new tokens behind the old ones of its layer, and returns all of them, oldest first"""
    sizes = [(0, 5), (1, 5), (2, 5), (2, 1), (0, 1), (1, 1), (1, 3), (0, 3), (2, 3)]
    calls = [[layer, *(rng.normal(0, 1, (size, 2, 4)).astype(np.float32) for _ in "kv")] for layer, size in sizes]
    got, want = tree.run(fill, num_layers=3, calls=calls), layers_of(calls, 3)

    suspects = cache_suspects(got, calls, 3)
    for row, right, (layer, k, _) in zip(got, want, calls, strict=True):
        what = f"after {len(k)} tokens more in layer {layer}"
        expect.that(row["pair"], "extend must return two tensors, the keys and the values of the layer", kind="type")
        for name in ("k", "v"):
            expect.close(row[name], right[name], atol=0.0, name=f"{name} as extend returns it {what}", axes=("token", "head", "channel"), suspects=suspects)


def test_layers_are_kept_apart(tree, rng):
    """The cache holds what extend returned; other layers are not touched, and length counts what all layers hold"""
    sizes = [(0, 4), (0, 1), (1, 2), (1, 3), (0, 1)]
    calls = [[layer, *(rng.normal(0, 1, (size, 3, 2)).astype(np.float32) for _ in "kv")] for layer, size in sizes]
    got, want = tree.run(fill, num_layers=2, calls=calls), layers_of(calls, 2)
    suspects = cache_suspects(got, calls, 2)
    for row, right, (layer, _, _) in zip(got, want, calls, strict=True):
        for other, held in enumerate(right["held"]):
            for name, place in (("keys", 0), ("values", 1)):
                what = f"cache.{name}[{other}] after a call for layer {layer}"
                if held is None:
                    expect.equal(row[name][other] is None, True, f"whether {what} is still empty", suspects=suspects)
                else:
                    lost = "nothing-stored" if suspects["nothing-stored"](None) else None
                    expect.that(row[name][other] is not None, f"{what} is empty", mistake=lost)
                    expect.close(row[name][other], held[place], atol=0.0, name=what, suspects=suspects)
        expect.that(row["kept"], "extend changed the tensors that it was given")
    expect.equal([row["length"] for row in got], [0, 0, 2, 5, 5], "cache.length after each call")


def test_two_requests(tree, rng):
    """Two caches are independent of each other"""
    first, second = ([[rng.normal(0, 1, (size, 1, 4)).astype(np.float32) for _ in "kv"] for size in sizes] for sizes in ((3, 1, 1), (2, 4, 1)))
    got = tree.run(two_caches, first=first, second=second)
    wrong = {
        "nothing-stored": all(row[name] is None for row in got for name in "kv"),
        "old-tokens-lost": all(same(row["k"], pieces[-1][0]) for row, pieces in zip(got, (first, second), strict=True)),
    }
    turned = [np.concatenate([piece[0] for piece in pieces[::-1]]) for pieces in (first, second)]
    wrong["newest-first"] = all(same(row["k"], other) for row, other in zip(got, turned, strict=True))
    for row, pieces in zip(got, (first, second), strict=True):
        for name, at in (("k", 0), ("v", 1)):
            whole = np.concatenate([piece[at] for piece in pieces])
            empty = "nothing-stored" if wrong["nothing-stored"] else None
            expect.that(row[name] is not None, f"the cache holds no {name} after its request has run", mistake=empty)
            expect.close(row[name], whole, atol=0.0, name=f"{name} of a request while another one runs", axes=("token", "head", "channel"), suspects=wrong)


def test_equals_hugging_face(tree, oracle, rng):
    """Attention equals Hugging Face's: a prompt, one token behind a cache, a piece of a prompt behind a cache"""
    shapes = [(6, 6, 6, 2, 8), (1, 9, 4, 2, 16), (3, 10, 9, 3, 8), (1, 1, 4, 1, 4), (5, 7, 4, 4, 8)]
    cases = [a_case(rng, *shape) for shape in shapes]
    same_outputs(tree.run(attend, cases=cases), oracle.ask(hugging_face, cases=cases), cases)


def test_fresh_numbers(tree, seed):
    """The same holds for shapes and numbers that this run made up"""
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(6):
        new, cached, kv_heads, shared = (int(rng.integers(low, high)) for low, high in ((2, 7), (1, 6), (2, 4), (2, 4)))
        cases.append(a_case(rng, new, new + cached * (i > 0), kv_heads * shared, kv_heads, int(rng.choice([4, 8, 10]))))
    same_outputs(tree.run(attend, cases=cases), [definition(case) for case in cases], cases)


def test_pieces(tree, seed):
    """A sequence in pieces through the cache gives what it gives in one piece"""
    rng = np.random.default_rng(seed)
    case = a_case(rng, 12, 12, 6, 2, 8)
    for pieces in ([12], [4, 1, 1, 5, 1], [1] * 12):
        got = tree.run(in_pieces, **case, pieces=pieces)
        expect.close(got["out"], definition(case), atol=2e-5, name=f"the attention in pieces of {pieces}", axes=("token", "head", "channel"))


def test_large_scores(tree, rng):
    """Scores of some hundreds do not overflow the softmax"""
    cases = [a_case(rng, 3, 5, 4, 2, 16), a_case(rng, 1, 4, 2, 1, 8)]
    for case in cases:
        case["q"], case["k"] = case["q"] * 12, case["k"] * 12
    got = tree.run(attend, cases=cases)
    for row, case in zip(got, cases, strict=True):
        broken = lambda found: not np.isfinite(np.asarray(found)).all()  # noqa: E731
        expect.close(row["out"], definition(case), atol=2e-3, name="the attention under large scores", suspects={"softmax-overflows": broken})


def test_dtype_and_arguments(tree, rng):
    """The result has the dtype of q, also in bfloat16, and q, k and v are not changed"""
    cases = [a_case(rng, 4, 6, 4, 2, 8), a_case(rng, 1, 40, 2, 1, 8)]
    for dtype, atol in (("float32", 2e-5), ("bfloat16", 0.06)):
        for row, case in zip(tree.run(attend, cases=cases, dtype=dtype), cases, strict=True):
            expect.is_tensor(row["out"], f"the attention in {dtype}", shape=case["q"].shape, dtype=dtype)
            expect.close(row["out"], definition(case), atol=atol, name=f"the attention in {dtype}", axes=("token", "head", "channel"))
            expect.that(row["kept"], "attention changed a tensor that it was given", mistake="changed-in-place")
