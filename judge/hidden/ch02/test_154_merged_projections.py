"""Exercise 154: one matrix product for q, k and v, and one for gate and up."""

import numpy as np

from judge import expect

HQ, HKV, DIM = 6, 2, 8
LENGTHS = (5, 1, 4)  # new tokens of each request
CACHED = (0, 9, 3)  # tokens before them
EPS, BASE, MAX_POSITION = 1e-5, 500.0, 64


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def shapes(cases):
    """The weights of a merged layer built as one rank of several, as [name, shape, dtype], or the error; and y of x."""
    import copy

    import torch

    from minisgl.distributed import reset_tp_info, set_tp_info
    from minisgl.layers import LinearColParallelMerged, LinearQKVMerged

    found = []
    for case in cases:
        reset_tp_info()
        if case["ranks"] > 1:
            set_tp_info(case["rank"], case["ranks"])
        kind = LinearColParallelMerged if case["layer"] == "columns" else LinearQKVMerged
        torch.set_default_dtype(getattr(torch, case.get("dtype", "float32")))
        sizes = copy.deepcopy(case["sizes"])
        try:
            layer = kind(*sizes, **case.get("more", {}))
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
            continue
        finally:
            torch.set_default_dtype(torch.float32)
        weights = [[n, list(w.shape), str(w.dtype).removeprefix("torch.")] for n, w in layer.state_dict().items()]
        found.append({"weights": weights, "sizes kept": sizes == case["sizes"]})
        state = {name: torch.randn(w.shape, dtype=w.dtype) for name, w in layer.state_dict().items()}
        if "weight" in state and state["weight"].dim() == 2:
            layer.load_state_dict(state)
            x = torch.randn(3, state["weight"].shape[1], dtype=state["weight"].dtype)
            found[-1] |= {
                "x": x.float(),
                "state": {n: w.float() for n, w in state.items()},
                "y": layer.forward(x).float(),
            }
    return found


def split(cases):
    """split_qkv of qkv as rank ranks - 1 of `ranks`, whole and of its first row."""
    import torch

    from minisgl.distributed import reset_tp_info, set_tp_info
    from minisgl.layers import AttentionLayer
    from minisgl.models.config import RotaryConfig

    found = []
    for case in cases:
        reset_tp_info()
        if case["ranks"] > 1:
            set_tp_info(case["ranks"] - 1, case["ranks"])
        qkv = case["qkv"]
        before = qkv.clone()
        layer = AttentionLayer(3, *case["heads"], case["dim"], RotaryConfig(max_position=8, base=1e4))
        parts, one = layer.split_qkv(qkv), layer.split_qkv(qkv[:1])
        tensors = parts if isinstance(parts, (tuple, list)) else []
        flat = [isinstance(t, torch.Tensor) and t.is_contiguous() for t in tensors]
        same = torch.equal(qkv, before)
        found.append({"count": len(tensors), "parts": list(tensors), "flat": flat, "one": one, "unchanged": same})
    return found


def attend(
    qkv, shape, lengths, cached, answer, q_weight=None, k_weight=None, window=None, layer_id=0, more=(), ranks=1
):
    """What an attention layer hands to the backend for a ragged prefill batch, and what it makes of the answer.

    `more`: positions of further, one-token steps with the same layer (decode), on the first rows of qkv.
    """
    import torch

    from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
    from minisgl.distributed import reset_tp_info, set_tp_info
    from minisgl.layers import AttentionLayer, RMSNorm
    from minisgl.models.config import RotaryConfig

    calls = []

    class Backend:
        def forward(self, q, k, v, layer_id, batch, window=None):
            flat = [t.is_contiguous() for t in (q, k, v)]
            tensors = [t.clone() for t in (q, k, v)]
            calls.append(
                {"qkv": tensors, "layer": layer_id, "batch": batch is ctx.batch, "window": window, "contiguous": flat}
            )
            return answer[: len(q)].clone()

    def norm(weight):
        if weight is None:
            return None
        made = RMSNorm(len(weight), shape["eps"])
        made.load_state_dict({"weight": weight.clone()})
        return made

    reset_tp_info()
    if ranks > 1:
        set_tp_info(0, ranks)
    rotary = RotaryConfig(max_position=shape["max_position"], base=shape["base"])
    q_norm, k_norm = norm(q_weight), norm(k_weight)
    layer = AttentionLayer(
        layer_id, shape["hq"] * ranks, shape["hkv"] * ranks, shape["dim"], rotary, q_norm, k_norm, window
    )
    reset_global_ctx()
    ctx = Context(page_size=1)
    ctx.attn_backend = Backend()
    set_global_ctx(ctx)
    sampling = SamplingParams()
    reqs = [
        Req(torch.arange(old + new, dtype=torch.int32), i, old, 4, i, sampling)
        for i, (new, old) in enumerate(zip(lengths, cached, strict=True))
    ]
    batch = Batch(reqs, "prefill")
    batch.positions = batch.host_positions()
    outs = []
    with ctx.forward_batch(batch):
        outs.append(layer.forward(qkv.clone()))
    for positions in more:
        batch = Batch(reqs[: len(positions)], "decode")
        batch.positions = torch.tensor(positions, dtype=torch.int32)
        with ctx.forward_batch(batch):
            outs.append(layer.forward(qkv[: len(positions)].clone()))
    return {"calls": calls, "outs": outs, "names": list(layer.state_dict())}


# ---- references --------------------------------------------------------------------------------------------------


def rms(x, weight):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPS) * weight


def rope(x, positions):
    half = x.shape[-1] // 2
    angle = np.asarray(positions, np.float64)[:, None, None] * BASE ** (-np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def parts_of(qkv, hq=HQ, hkv=HKV, dim=DIM):
    q, k, v = np.split(np.asarray(qkv, np.float64), [hq * dim, (hq + hkv) * dim], axis=1)
    return q.reshape(len(q), hq, dim), k.reshape(len(k), hkv, dim), v.reshape(len(v), hkv, dim)


def positions_of(lengths=LENGTHS, cached=CACHED):
    return np.concatenate([np.arange(old, old + new) for new, old in zip(lengths, cached, strict=True)])


def reports(found, want, mistakes=None):
    """The weights of one built layer; `mistakes` names what other shapes would mean."""
    if "raised" in found:
        text = [str(found["text"])[:110]]
        mistake = (mistakes or {}).get(found["raised"])
        expect.that(False, f"building the layer raises {found['raised']}", text, mistake=mistake)
    suspects = {name: wrong for name, wrong in (mistakes or {}).items() if isinstance(wrong, list)}
    expect.equal(found["weights"], want, "the list of the layer's weights (name, shape, dtype)", suspects=suspects)
    y = found["x"] @ found["state"]["weight"].T + found["state"].get("bias", 0.0)
    coarse = 1e-4 if want[0][2] == "float32" else 0.1
    expect.close(
        found["y"], y, atol=coarse, rtol=coarse, name="the layer's output", axes=("token", "row of the weight")
    )


def weight(rows, columns, bias=False, dtype="float32"):
    return [["weight", [rows, columns], dtype]] + ([["bias", [rows], dtype]] if bias else [])


# ---- tests -------------------------------------------------------------------------------------------------------


def test_gate_and_up(tree):
    """A merged layer has the rows of all its parts, and a rank 1/size of the rows of each"""

    def build(sizes, ranks, rank=0, **more):
        return {"layer": "columns", "sizes": sizes, "ranks": ranks, "rank": rank} | more

    cases = [
        build([12, [20, 20]], 1),
        build([12, [20, 20]], 2, 1),
        build([7, [6, 3, 9]], 3, 2, more={"has_bias": True}),
        build([7, [5]], 1, more={"has_bias": True}),
        build([5, [8, 4]], 4, 3, dtype="bfloat16"),
        build([5, (8, 4)], 1),
    ]
    got = tree.run(shapes, cases=cases)
    want = [
        weight(40, 12),
        weight(20, 12),
        weight(6, 7, True),
        weight(5, 7, True),
        weight(3, 5, dtype="bfloat16"),
        weight(12, 5),
    ]
    whole = [None, weight(40, 12), weight(18, 7, True), None, weight(12, 5, dtype="bfloat16"), None]
    for found, right, undivided in zip(got, want, whole, strict=True):
        reports(found, right, {"whole-weight-on-every-rank": undivided} if undivided else None)
        expect.equal(found["sizes kept"], True, "'the caller's sizes are as before'")


def test_each_part_must_divide(tree):
    """A part that the ranks cannot divide is a ValueError, even if the sum of all parts divides"""
    sizes = [[3, 5], [4, 6, 6], [7, 7]]
    cases = [
        {"layer": "columns", "sizes": [8, part], "ranks": n, "rank": 0}
        for part, n in zip(sizes, (2, 4, 2), strict=True)
    ]
    for part, found in zip(sizes, tree.run(shapes, cases=cases), strict=True):
        mistake = "only-the-sum-divided" if "weights" in found else None
        expect.raised(
            found,
            "ValueError",
            None,
            f"parts of {' and '.join(map(str, part))} rows on {cases[sizes.index(part)]['ranks']} ranks",
            mistake=mistake,
        )


def test_qkv_rows(tree):
    """The merged qkv weight has (query heads + 2 key heads) x head_dim rows; head_dim is its own number"""

    def build(sizes, ranks, rank=0, **more):
        return {"layer": "qkv", "sizes": sizes, "ranks": ranks, "rank": rank} | more

    cases = [
        build([20, 8, 6, 2], 1),
        build([20, 8, 6, 2], 2, 1),
        build([64, 16, 9, 3], 3, 2, more={"has_bias": True}),
        build([48, 4, 4, 4], 1, more={"has_bias": True}),
        build([16, 4, 8, 2], 2, dtype="bfloat16"),
    ]
    got = tree.run(shapes, cases=cases)
    want = [
        weight(80, 20),
        weight(40, 20),
        weight(80, 64, True),
        weight(48, 48, True),
        weight(24, 16, dtype="bfloat16"),
    ]
    wrong = {
        "key-heads-counted-once": [
            weight(64, 20),
            weight(32, 20),
            weight(64, 64, True),
            weight(32, 48, True),
            weight(20, 16, dtype="bfloat16"),
        ],
        "key-heads-as-many-as-query-heads": [
            weight(144, 20),
            weight(72, 20),
            weight(144, 64, True),
            weight(48, 48, True),
            weight(48, 16, dtype="bfloat16"),
        ],
        "whole-weight-on-every-rank": [
            weight(80, 20),
            weight(80, 20),
            weight(240, 64, True),
            weight(48, 48, True),
            weight(48, 16, dtype="bfloat16"),
        ],
        "head-dim-from-hidden-size": [
            weight(30, 20),
            weight(15, 20),
            weight(35, 64, True),
            weight(144, 48, True),
            weight(12, 16, dtype="bfloat16"),
        ],
    }
    if all("weights" in found for found in got):
        expect.equal(
            [found["weights"] for found in got],
            want,
            "the list of weights (name, shape, dtype) of five layers",
            suspects=wrong,
        )
    for found, right in zip(got, want, strict=True):
        reports(found, right)


def test_shared_key_heads(tree):
    """With more ranks than key heads each rank has one; heads that cannot be divided are a ValueError"""

    def build(qo, kv, ranks):
        return {"layer": "qkv", "sizes": [16, 4, qo, kv], "ranks": ranks, "rank": ranks - 1}

    fits = [build(8, 2, 4), build(8, 1, 8), build(12, 4, 4)]
    refused = [build(9, 3, 2), build(8, 3, 2), build(12, 3, 4), build(6, 2, 4)]
    got = tree.run(shapes, cases=fits + refused)
    for found, rows in zip(got, (16, 12, 20), strict=False):
        reports(found, weight(rows, 16), {"ValueError": "key-heads-never-shared"})
    for case, found in zip(refused, got[len(fits) :], strict=True):
        what = f"{case['sizes'][2]} query and {case['sizes'][3]} key heads on {case['ranks']} ranks"
        expect.raised(found, "ValueError", None, what)


def shares(qkv, heads, dim):
    """q, k and v of merged columns, and what the known mistakes make of them; each side by side, [T, all heads, D]."""
    q, k, v = parts_of(qkv, *heads, dim)
    group = heads[0] // heads[1]
    groups = np.asarray(qkv, np.float64).reshape(len(qkv), heads[1], group + 2, dim)
    wrong = {
        "key-and-value-swapped": [q, v, k],
        "one-group-after-another": [
            groups[:, :, :group].reshape(q.shape),
            groups[:, :, group],
            groups[:, :, group + 1],
        ],
        "head-dim-before-heads": [t.reshape(len(t), dim, -1).transpose(0, 2, 1) for t in (q, k, v)],
    }
    return np.concatenate([q, k, v], 1), {name: np.concatenate(parts, 1) for name, parts in wrong.items()}


def test_split(tree, seeds):
    """split_qkv gives all query heads, then all key heads, then all value heads, each [T, heads, D] and contiguous"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cases = []
        for heads, dim, ranks in (((HQ, HKV), DIM, 1), ((3, 3), 4, 1), ((8, 2), 6, 2)):
            columns = (heads[0] + 2 * heads[1]) * dim // ranks
            qkv = rng.normal(0, 1, (7, columns)).astype(np.float32)
            cases.append({"qkv": qkv, "heads": list(heads), "dim": dim, "ranks": ranks})
        for case, got in zip(cases, tree.run(split, cases=cases), strict=True):
            dim, (hq, hkv) = case["dim"], [n // case["ranks"] for n in case["heads"]]
            expect.equal(got["count"], 3, "the number of tensors that split_qkv returns")
            for name, found, heads in zip("qkv", got["parts"], (hq, hkv, hkv), strict=True):
                expect.is_tensor(found, name, shape=(7, heads, dim), dtype="float32")
            want, wrong = shares(case["qkv"], (hq, hkv), dim)
            axes = ("token", "head (q, then k, then v)", "element")
            whole = np.concatenate([np.asarray(t) for t in got["parts"]], axis=1)
            expect.close(whole, want, atol=0.0, name="q, k and v", axes=axes, suspects=wrong)
            for name, found, right in zip("qkv", got["one"], np.split(want[:1], [hq, hq + hkv], axis=1), strict=True):
                expect.close(found, right, atol=0.0, name=f"{name} of one token")
            gaps = {"parts-not-contiguous": lambda flags: not all(flags)}
            expect.equal(got["flat"], [True] * 3, "'q, k, v are contiguous'", suspects=gaps)
            expect.equal(got["unchanged"], True, "'split_qkv leaves qkv as it is'")


def attention_case(tree, rng, norms, **more):
    """Run one layer; returns the evidence, what the backend should get, and what it would get with a known mistake."""
    tokens = sum(LENGTHS)
    qkv = rng.normal(0, 1, (tokens, (HQ + 2 * HKV) * DIM)).astype(np.float32)
    answer = rng.normal(0, 1, (tokens, HQ, DIM)).astype(np.float32)
    shape = {"hq": HQ, "hkv": HKV, "dim": DIM, "eps": EPS, "base": BASE, "max_position": MAX_POSITION}
    weights = {f"{name}_weight": rng.uniform(0.3, 2.5, DIM).astype(np.float32) for name in norms}
    got = tree.run(attend, qkv=qkv, shape=shape, lengths=LENGTHS, cached=CACHED, answer=answer, **weights, **more)
    return got, qkv, answer, weights


def handed(qkv, positions, q_weight=None, k_weight=None, mistake=None):
    """q, k, v for the backend, side by side [T, HQ + 2 HKV, D]."""
    q, k, v = parts_of(qkv)
    if mistake == "norms-swapped":
        q_weight, k_weight = k_weight, q_weight
    if mistake == "positions-counted-anew":
        positions = np.arange(len(q))
    if mistake == "no-positions":
        positions = np.zeros(len(q))
    norm_q = (lambda x: x) if q_weight is None or mistake == "norms-forgotten" else lambda x: rms(x, q_weight)
    norm_k = (lambda x: x) if k_weight is None or mistake == "norms-forgotten" else lambda x: rms(x, k_weight)
    if mistake == "norm-after-rotation":
        q, k = norm_q(rope(q, positions)), norm_k(rope(k, positions))
    elif mistake == "norm-over-all-heads":

        def over_all(x, w):
            return x if w is None else x / np.sqrt((x**2).mean((1, 2), keepdims=True) + EPS) * w

        q, k = rope(over_all(q, q_weight), positions), rope(over_all(k, k_weight), positions)
    else:
        q, k = rope(norm_q(q), positions), rope(norm_k(k), positions)
    if mistake == "values-rotated":
        v = rope(v, positions)
    return np.concatenate([q, k, v], axis=1)


MISTAKES = ("positions-counted-anew", "no-positions", "values-rotated")
NORM_MISTAKES = (*MISTAKES, "norms-swapped", "norms-forgotten", "norm-after-rotation", "norm-over-all-heads")


def check_call(call, qkv, positions, weights, mistakes, name):
    for what, found, heads in zip("qkv", call["qkv"], (HQ, HKV, HKV), strict=True):
        expect.is_tensor(found, f"{what} {name}", shape=(len(positions), heads, DIM), dtype="float32")
    want = handed(qkv, positions, **weights)
    wrong = {m: handed(qkv, positions, **weights, mistake=m) for m in mistakes}
    got = np.concatenate([np.asarray(part) for part in call["qkv"]], axis=1)
    axes = ("token", "head (q, then k, then v)", "element")
    expect.close(got, want, atol=2e-5, name=f"q, k and v {name}", axes=axes, suspects=wrong)


def test_attention_hands_over(tree, seeds):
    """The backend gets q, k and v, q and k rotated by the batch's positions, and v as it is"""
    for seed in seeds:
        got, qkv, _, weights = attention_case(tree, np.random.default_rng(seed), ())
        expect.equal(len(got["calls"]), 1, "the number of calls of the backend")
        check_call(got["calls"][0], qkv, positions_of(), weights, MISTAKES, "as the backend gets them")
        expect.equal(got["calls"][0]["contiguous"], [True] * 3, "'q, k, v are contiguous'")


def test_norms_come_first(tree, seeds):
    """Query and key norms work on each head, before the rotation, each with its own weight"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        got, qkv, _, weights = attention_case(tree, rng, ("q", "k"))
        check_call(got["calls"][0], qkv, positions_of(), weights, NORM_MISTAKES, "with norms, as the backend gets them")
    for only in ("q", "k"):
        got, qkv, _, weights = attention_case(tree, rng, (only,))
        check_call(got["calls"][0], qkv, positions_of(), weights, MISTAKES, f"with a norm on {only} only")
    expect.equal(got["names"], [], "the list of weights of the attention layer")


def test_what_the_backend_is_told(tree, rng):
    """The backend is told the layer's number, the batch and the window"""
    for layer_id, window in ((3, 6), (0, None), (11, 1)):
        got, *_ = attention_case(tree, rng, (), layer_id=layer_id, window=window)
        call = got["calls"][0]
        forgotten = {"window-forgotten": lambda told, window=window: told is None and window is not None}
        expect.equal(call["window"], window, "the window that the backend is told", suspects=forgotten)
        expect.equal(call["layer"], layer_id, "the number of the layer that the backend is told")
        expect.equal(call["batch"], True, "'the batch that the backend is told is the active one'")


def test_answer_is_flattened(tree, rng):
    """The result is the backend's answer with its heads side by side: [T, Hq * D]"""
    got, _, answer, _ = attention_case(tree, rng, ("q", "k"))
    want = answer.reshape(len(answer), -1)
    wrong = {"heads-interleaved": answer.transpose(0, 2, 1).reshape(len(answer), -1)}
    expect.close(
        got["outs"][0],
        want,
        atol=0.0,
        name="the layer's output",
        axes=("token", "column"),
        dtype="float32",
        suspects=wrong,
    )


def test_later_steps(tree, rng):
    """The same layer computes the next steps at their own positions; on two ranks it works on its own heads"""
    steps = [[6, 11, 8], [7, 12], [40]]
    got, qkv, answer, weights = attention_case(tree, rng, ("q", "k"), more=steps, ranks=2)
    expect.equal(len(got["calls"]), 1 + len(steps), "the number of calls of the backend in four steps")
    for call, out, positions in zip(got["calls"][1:], got["outs"][1:], steps, strict=True):
        rows = len(positions)
        check_call(call, qkv[:rows], positions, weights, (), f"of a decode step with {rows} requests")
        expect.close(
            out, answer[:rows].reshape(rows, -1), atol=0.0, name=f"the output of a decode step with {rows} requests"
        )
