"""Exercise 153: SwiGLU, alone and in the MLP."""

import numpy as np

from judge import expect

HIDDEN, INNER = 12, 20


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def activate(inputs, dtype="float32"):
    """silu_and_mul of each input, and whether the input stayed as it was."""
    import torch

    from minisgl.kernel import silu_and_mul

    found = []
    for x in inputs:
        given = x.to(getattr(torch, dtype))
        before = given.clone()
        found.append({"out": silu_and_mul(given), "unchanged": torch.equal(given, before)})
    wide = inputs[0].repeat(2, 1).T.contiguous().T  # the same numbers, laid out column by column
    return {"results": found, "strided": silu_and_mul(wide), "again": silu_and_mul(inputs[0])}


def mlp(x, weights):
    """GatedMLP with these weights (names as in the engine; gate and up apart), on one rank and on two.

    Ranks run one after another: the first pass notes what each hands to all_reduce, the second gives it the sum.
    """
    import torch

    from minisgl.distributed import DistributedCommunicator, reset_tp_info, set_tp_info
    from minisgl.models.config import ModelConfig, RotaryConfig
    from minisgl.models.utils import GatedMLP

    inner, hidden = weights["gate.weight"].shape
    has_bias = "gate.bias" in weights
    config = ModelConfig(
        num_layers=1,
        num_qo_heads=2,
        num_kv_heads=1,
        head_dim=8,
        hidden_size=hidden,
        intermediate_size=inner,
        vocab_size=9,
        rms_norm_eps=1e-5,
        rotary_config=RotaryConfig(max_position=8, base=1e4),
        mlp_bias=has_bias,
    )

    def build(rank, size):
        part = slice(rank * inner // size, (rank + 1) * inner // size)
        state = {
            "gate_up_proj.weight": torch.cat([weights["gate.weight"][part], weights["up.weight"][part]]),
            "down_proj.weight": weights["down.weight"][:, part].contiguous(),
        }
        if has_bias:
            state["gate_up_proj.bias"] = torch.cat([weights["gate.bias"][part], weights["up.bias"][part]])
            state["down_proj.bias"] = weights["down.bias"].clone()
        layer = GatedMLP(config)
        layer.load_state_dict(state)
        return layer

    class Ranks:
        def __init__(self):
            self.parts, self.total = [], None

        def all_reduce(self, x):
            if self.total is None:
                self.parts.append(x.clone())
                return x
            return x.copy_(self.total) if x.shape == self.total.shape else self.total.clone()

        def all_gather(self, x):
            raise RuntimeError("an MLP has nothing to gather")

    layer, before = build(0, 1), x.clone()
    out = layer.forward(x)
    single = {"out": out, "unchanged": torch.equal(x, before)}
    single |= {"one row": layer.forward(x[2:3]), "again": layer.forward(x)}

    ranks = Ranks()
    DistributedCommunicator.plugins.append(ranks)
    outs = []
    for _ in range(2):
        for rank in range(2):
            reset_tp_info()
            set_tp_info(rank, 2)
            outs.append(build(rank, 2).forward(x.clone()))
        ranks.total = torch.stack(ranks.parts).sum(0) if ranks.parts else None
        if ranks.total is None:
            break
    return single | {"sums": len(ranks.parts), "ranks": outs[2:]}


def hf_mlp(x, weights):
    """A question: the MLP of Hugging Face's Llama with the same weights."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP

    inner, hidden = weights["gate.weight"].shape
    has_bias = "gate.bias" in weights
    config = LlamaConfig(hidden_size=hidden, intermediate_size=inner, num_attention_heads=2, mlp_bias=has_bias)
    layer = LlamaMLP(config)
    layer.load_state_dict({name.replace(".", "_proj."): weight for name, weight in weights.items()})
    with torch.inference_mode():
        return layer.float()(x)


# ---- inputs and expectations -------------------------------------------------------------------------------------


def sigmoid(z):
    return np.where(z >= 0, 1 / (1 + np.exp(-np.abs(z))), np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))))


def silu(z):
    return z * sigmoid(z)


def gelu(z):
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


MISTAKES = {
    "halves-swapped": lambda gate, up: gate * silu(up),
    "silu-of-the-product": lambda gate, up: silu(gate * up),
    "sigmoid-instead-of-silu": lambda gate, up: sigmoid(gate) * up,
    "gelu-instead-of-silu": lambda gate, up: gelu(gate) * up,
    "no-activation": lambda gate, up: gate * up,
    "relu-instead-of-silu": lambda gate, up: np.maximum(gate, 0) * up,
    "both-halves-activated": lambda gate, up: silu(gate) * silu(up),
    "added-not-multiplied": lambda gate, up: silu(gate) + up,
}


def swiglu(x):
    """What silu_and_mul should give, and what the known mistakes would give."""
    x = np.asarray(x, np.float64)
    gate, up = np.split(x, 2, axis=-1)
    wrong = {mistake: formula(gate, up) for mistake, formula in MISTAKES.items()}
    wrong["neighbours-paired"] = silu(x[..., ::2]) * x[..., 1::2]
    return silu(gate) * up, wrong


def make_weights(rng, has_bias):
    shapes = {"gate.weight": (INNER, HIDDEN), "up.weight": (INNER, HIDDEN), "down.weight": (HIDDEN, INNER)}
    if has_bias:
        shapes |= {"gate.bias": (INNER,), "up.bias": (INNER,), "down.bias": (HIDDEN,)}
    return {name: rng.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}


def mlp_with(x, w, formula):
    linear = lambda x, name: x @ w[f"{name}.weight"].T.astype(np.float64) + w.get(f"{name}.bias", 0.0)  # noqa: E731
    return linear(formula(linear(x, "gate"), linear(x, "up")), "down")


# ---- tests -------------------------------------------------------------------------------------------------------


def test_first_half_is_the_gate(tree, seeds):
    """silu_and_mul gives silu of the first half times the second half, over the last dimension"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        shapes = [(5, 8), (2, 3, 12), (14,), (4, 2), (0, 6), (1, 1, 1, 8)]
        inputs = [rng.normal(0, 2, shape).astype(np.float32) for shape in shapes]
        got = tree.run(activate, inputs=inputs)
        for x, found in zip(inputs, got["results"], strict=True):
            want, wrong = swiglu(x)
            name = f"silu_and_mul of a tensor of shape {list(x.shape)}"
            expect.close(found["out"], want, atol=1e-5, name=name, axes=(), dtype="float32", suspects=wrong)
        want, wrong = swiglu(np.tile(inputs[0], (2, 1)))
        expect.close(got["strided"], want, atol=1e-5, name="silu_and_mul of a tensor with strides", suspects=wrong)


def test_far_from_zero(tree):
    """Large gates pass through and very negative ones give 0, without NaN or infinity"""
    gate = np.array([300.0, 88.8, 20.0, -20.0, -88.8, -104.0, -300.0, 0.0], np.float32)
    x = np.stack([np.concatenate([gate, np.full(8, up, np.float32)]) for up in (1.0, -0.5, 3.0)])
    want, wrong = swiglu(x)
    got = tree.run(activate, inputs=[x])["results"][0]["out"]
    name = "silu_and_mul of gates up to 300"
    expect.close(got, want, atol=1e-6, rtol=1e-5, name=name, axes=("row", "gate"), suspects=wrong)


def test_dtype_and_input(tree, rng):
    """The result is a new tensor of the input's dtype, and the input stays as it is"""
    x = rng.normal(0, 1.5, (6, 10)).astype(np.float32)
    want, wrong = swiglu(x)
    for dtype in ("float32", "bfloat16", "float16", "float64"):
        got = tree.run(activate, inputs=[x], dtype=dtype)
        found = got["results"][0]
        out = expect.is_tensor(found["out"], f"silu_and_mul of {dtype}", shape=(6, 5), dtype=dtype)
        coarse = {"float32": 1e-5, "float64": 1e-6, "float16": 1e-2, "bfloat16": 6e-2}[dtype]
        expect.close(out, want, atol=coarse, rtol=coarse, name=f"silu_and_mul of {dtype}", suspects=wrong)
        changed = "silu_and_mul changed the tensor that it was given"
        expect.that(found["unchanged"], changed, [f"dtype {dtype}"], mistake="input-changed-in-place")
        expect.close(got["again"], want, atol=1e-5, name="silu_and_mul at a second call", suspects=wrong)


def test_mlp_equals_hugging_face(tree, oracle):
    """GatedMLP equals Hugging Face's MLP, with and without biases"""
    for has_bias in (False, True):
        rng = np.random.default_rng(4)
        x, w = rng.normal(0, 1, (7, HIDDEN)).astype(np.float32), make_weights(rng, has_bias)
        want = np.asarray(oracle.ask(hf_mlp, x=x, weights=w))
        wrong = {mistake: mlp_with(x, w, formula) for mistake, formula in MISTAKES.items()}
        got = tree.run(mlp, x=x, weights=w)
        name = f"the MLP's output ({'with' if has_bias else 'no'} biases)"
        expect.close(got["out"], want, name=name, axes=("token", "feature"), dtype="float32", suspects=wrong)
        expect.close(got["one row"], want[2:3], name=f"{name}, for one token", axes=("token", "feature"))
        expect.close(got["again"], want, name=f"{name}, at a second call", axes=("token", "feature"))
        expect.equal(got["unchanged"], True, "'the MLP leaves its input as it is'")


def test_mlp_on_two_ranks(tree, seeds):
    """On two ranks the partial results are summed once, and the bias of down_proj is added once"""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x, w = rng.normal(0, 1, (3, HIDDEN)).astype(np.float32), make_weights(rng, True)
        got = tree.run(mlp, x=x, weights=w)
        want = mlp_with(x, w, lambda gate, up: silu(gate) * up)
        expect.that(got["sums"] > 0, "the ranks never sum their results", mistake="ranks-not-summed")
        expect.equal(got["sums"], 2, "the number of calls of all_reduce by two ranks")
        for rank, out in enumerate(got["ranks"]):
            twice = {"bias-added-on-every-rank": want + w["down.bias"]}
            name = f"the MLP's output on rank {rank} of 2"
            expect.close(out, want, name=name, axes=("token", "feature"), suspects=twice)
