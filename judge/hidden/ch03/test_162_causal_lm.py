"""Exercise 162: the decoder and CausalLM."""

import weakref

import numpy as np

from judge import expect
from judge.reference import Reference
from judge.reference_parts import rms_norm

MODELS = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")
ANSWERS = weakref.WeakKeyDictionary()  # tree -> what its models gave
PROMPTS = [[17, 3, 250, 3, 99, 401, 8, 8, 76, 30, 5, 111], [42], [300, 12, 7, 500, 1], [300, 12, 7, 500, 1]]


# ---- probes: run next to the learner's code ------------------------------------------------------------------------


def run_models(paths, prompts):
    """Each checkpoint: names of the weights, and what model and head give for the prompts as one prefill batch.

    The requests' own tokens are not those of the batch: only batch.input_ids counts, as it is in a batch whose tokens are on the device.
    `layers` notes what the attention was asked for: [layer id, window] of each call.
    """
    import json
    from pathlib import Path
    from types import SimpleNamespace

    import torch
    import torch.nn.functional as F

    from minisgl.core import Batch, Context, Req, SamplingParams, set_global_ctx
    from minisgl.layers import set_rope_device
    from minisgl.models import ModelConfig, create_model, load_weight

    class Attention:
        def __init__(self, lens):
            self.lens, self.calls = lens, []

        def forward(self, q, k, v, layer_id, batch, window=None):
            self.calls.append([layer_id, window])
            out = []
            for qs, ks, vs in zip(*(x.transpose(0, 1).split(self.lens, dim=1) for x in (q, k, v)), strict=True):
                age = torch.arange(qs.shape[1])[:, None] - torch.arange(qs.shape[1])
                mask = (age >= 0) & (age < (window or len(age)))
                out.append(F.scaled_dot_product_attention(qs, ks, vs, attn_mask=mask, enable_gqa=True))
            return torch.cat(out, dim=1).transpose(0, 1)

        def get_last_indices(self, size):
            return torch.tensor(self.lens).cumsum(0)[:size] - 1

    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    set_rope_device("cpu")
    found = []
    for path in paths:
        config = ModelConfig.from_hf(SimpleNamespace(**json.loads((Path(path) / "config.json").read_text())))
        with torch.device("meta"):
            model = create_model(config)
        names = list(model.state_dict())
        answer = {"names": names}
        found.append(answer)
        try:
            model.load_state_dict(dict(load_weight(path, "cpu")))
        except NotImplementedError:
            raise
        except (KeyError, RuntimeError, ValueError) as error:
            answer["refused"] = f"{type(error).__name__}: {error}"
            continue

        def batch_of(rows, phase):
            reqs = [Req(torch.zeros(len(ids), dtype=torch.int32), i, 0, 4, i, SamplingParams()) for i, ids in enumerate(rows)]
            batch = Batch(reqs, phase)
            batch.input_ids = torch.tensor([i for ids in rows for i in ids], dtype=torch.int32)
            batch.positions = torch.tensor([p for ids in rows for p in range(len(ids))], dtype=torch.int32)
            ctx.attn_backend = batch.attn_metadata = Attention([len(ids) for ids in rows])
            return batch

        with torch.inference_mode():
            batch = batch_of(prompts, "prefill")
            given = batch.input_ids.clone()
            with ctx.forward_batch(batch):
                answer["hidden"] = model.model.forward(batch.input_ids)
            answer["layers"] = list(ctx.attn_backend.calls)
            with ctx.forward_batch(batch):
                answer["logits"] = [model.forward().clone() for _ in range(2)]
            answer["unchanged"] = bool(torch.equal(given, batch.input_ids))
            decode = batch_of([[9], [400], [9]], "decode")
            with ctx.forward_batch(decode):
                answer["decode"] = model.forward()
    return found


def tied_heads(path):
    """Load a model with tied embeddings from its own weights plus an lm_head: none, an equal one, another one; which head is used?"""
    import json
    from pathlib import Path
    from types import SimpleNamespace

    import torch

    from minisgl.layers import set_rope_device
    from minisgl.models import ModelConfig, create_model, load_weight

    hf = SimpleNamespace(**json.loads((Path(path) / "config.json").read_text()))
    set_rope_device("cpu")
    weights = dict(load_weight(path, "cpu"))
    embedding = weights["model.embed_tokens.weight"]
    other = embedding.flip(0).contiguous()
    found = {}
    for tied in (True, False):
        hf.tie_word_embeddings = tied
        for case, head in {"absent": None, "equal": embedding.clone(), "other": other}.items():
            with torch.device("meta"):
                model = create_model(ModelConfig.from_hf(hf))
            state = dict(weights) if head is None else {"lm_head.weight": head} | weights
            try:
                model.load_state_dict(state)
            except (KeyError, ValueError, RuntimeError) as error:
                if str(error).startswith("TODO"):
                    raise
                found[f"{tied} {case}"] = {"raised": type(error).__name__, "text": str(error)}
                continue
            used = model.lm_head.weight if model.lm_head.weight is not None else model.model.embed_tokens.weight
            owners = {embedding.data_ptr(): "embedding"} | ({} if head is None else {head.data_ptr(): "own"})
            which = owners.get(used.data_ptr(), "none")
            found[f"{tied} {case}"] = {"head": which, "names": [n for n in model.state_dict() if "lm_head" in n]}
    return found


# ---- what should come ----------------------------------------------------------------------------------------------


def weight_names(config):
    """The names of the merged weights, in the order in which the parts are built."""
    names = ["model.embed_tokens.weight"]
    bias = config["architectures"][0] == "Qwen2ForCausalLM"
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        names += [at + "self_attn.qkv_proj.weight"] + [at + "self_attn.qkv_proj.bias"] * bias
        if config["architectures"][0].startswith("Qwen3"):
            names += [at + "self_attn.q_norm.weight", at + "self_attn.k_norm.weight"]
        names += [at + "self_attn.o_proj.weight"]
        if config.get("num_experts"):
            names += [at + "mlp.gate.weight", at + "mlp.experts.gate_up_proj", at + "mlp.experts.down_proj"]
        else:
            names += [at + "mlp.gate_up_proj.weight", at + "mlp.down_proj.weight"]
        names += [at + "input_layernorm.weight", at + "post_attention_layernorm.weight"]
    names += ["model.norm.weight"]
    return names + ([] if config["tie_word_embeddings"] else ["lm_head.weight"])


def what_comes(reference, prompts):
    """Hidden states of all tokens, logits of each prompt's last one; and the same with each known mistake."""
    norm = reference.weights(np.float32)["model.norm.weight"]
    eps, last = reference.config["rms_norm_eps"], f"layers.{reference.config['num_hidden_layers'] - 1}."
    head = reference._head(reference.weights(np.float32), True)
    rows = {}
    for ids in prompts:
        record = {}
        reference.forward(ids, record=record)
        out, mlp = record[last + "out"], record[last + "mlp"]
        hidden = {
            "right": record["norm"],
            "last-norm-without-residual": rms_norm(mlp, norm, eps),
            "last-mlp-lost": rms_norm(out - mlp, norm, eps),
            "no-last-norm": out,
            "last-layer-returned": mlp,
        }
        for name, array in hidden.items():
            rows.setdefault(name, []).append(array)
    hidden = {name: np.concatenate(arrays) for name, arrays in rows.items()}
    logits = {name: np.stack([array[-1] for array in arrays]) @ head.T for name, arrays in rows.items()}
    return hidden, logits


def answers(tree):
    """(name, reference, answer) of each model. They run once; the verdict's other tests look at the same answers."""
    if tree not in ANSWERS:
        paths = [tree.model(name) for name in MODELS]
        got = tree.run(run_models, paths=paths, prompts=PROMPTS)
        ANSWERS[tree] = [(name, Reference(path), answer) for name, path, answer in zip(MODELS, paths, got, strict=True)]
    return ANSWERS[tree]


def with_weights(reference, change):
    """A reference whose weights are what change(weights) makes of them."""
    other = Reference(reference.path)
    other._cast[np.float32] = change(dict(reference.weights(np.float32)))
    return other


def doubled(weights):
    """What it comes to if the embedding stands in the residual, too, at the start."""
    return weights | {"model.embed_tokens.weight": weights["model.embed_tokens.weight"] * 2}


def last_layer_everywhere(weights):
    last = max(int(name.split(".")[2]) for name in weights if name.startswith("model.layers."))
    at = f"model.layers.{last}."
    return {n: weights[at + n.split(".", 3)[3]] if n.startswith("model.layers.") else w for n, w in weights.items()}


def loaded(name, answer):
    expect.that("refused" not in answer, f"the weights of {name} do not fit the model", [str(answer.get("refused"))[:160]])
    return answer


# ---- tests ---------------------------------------------------------------------------------------------------------


def test_names(tree):
    """The weights have the names of the checkpoints, the head's comes last, and a tied head has none"""
    for name, reference, answer in answers(tree):
        want, got = weight_names(reference.config), answer["names"]
        if sorted(got) == sorted(want) and "lm_head.weight" not in got[:-1]:
            continue
        tied = reference.config["tie_word_embeddings"]
        norms = [n for n in want if "q_norm" not in n and "k_norm" not in n]
        lines = [f"{name}:", f"missing: {sorted(set(want) - set(got))[:3]}", f"too many: {sorted(set(got) - set(want))[:3]}"]
        suspects = {
            "own-head-although-tied": tied and got == [*want, "lm_head.weight"],
            "always-tied": not tied and [*got, "lm_head.weight"] == want,
            "qk-norm-not-passed-on": got == norms != want,
            "head-before-model": sorted(got) == sorted(want) and "lm_head.weight" in got[:-1],
        }
        mistake = next((m for m, hit in suspects.items() if hit), None)
        if sorted(got) == sorted(want):
            lines = [f"{name}:", f"want {want[0]}, …, {want[-1]}", f"got  {got[0]}, …, {got[-1]}"]
        raise expect.Mismatch("mistake" if mistake else "mismatch", "the names of the weights are not right", lines, mistake)


def test_hidden_states(tree):
    """DecoderModel.forward gives the normed sum of the last layer's two outputs, for every token"""
    for name, reference, answer in answers(tree):
        hidden, _ = what_comes(reference, PROMPTS)
        loaded(name, answer)
        want = hidden.pop("right")
        got = answer["hidden"]
        for mistake, change in (("embedding-counted-twice", doubled), ("one-layer-for-all", last_layer_everywhere)):
            hidden[mistake] = what_comes(with_weights(reference, change), PROMPTS)[0]["right"]
        expect.close(got, want, name=f"the hidden states of {name}", axes=("token", "channel"), suspects=hidden)


def test_windows(tree):
    """Each layer knows its number, and its sliding window if it has one"""
    for name, reference, answer in answers(tree):
        loaded(name, answer)
        want = [[i, reference.window(i)] for i in range(reference.config["num_hidden_layers"])]
        ids = [[0, reference.window(i)] for i in range(len(want))]
        expect.equal(answer["layers"], want, f"[layer, window] of the calls of the attention, {name},", suspects={"layer-zero-for-all": ids})


def test_logits(tree):
    """CausalLM.forward gives a row of logits for the last token of each request, the same each time"""
    for name, reference, answer in answers(tree):
        loaded(name, answer)
        _, logits = what_comes(reference, PROMPTS)
        want = logits.pop("right")
        zeros = np.stack([reference.forward([0] * len(ids))[-1] for ids in PROMPTS])
        suspects = {**logits, "ids-of-the-requests": zeros}
        for turn, got in enumerate(answer["logits"]):
            label = f"the logits of {name}" + (" at the second call" if turn else "")
            expect.close(got, want, name=label, axes=("request", "token id"), suspects=suspects)
        expect.that(answer["unchanged"], f"the forward pass of {name} changes batch.input_ids")


def test_decode(tree):
    """In a decode batch every row gives logits"""
    for name, reference, answer in answers(tree):
        loaded(name, answer)
        want = np.stack([reference.forward([i])[0] for i in (9, 400, 9)])
        expect.close(answer["decode"], want, name=f"the logits of {name} in decode", axes=("request", "token id"))


def test_tied_and_untied(tree):
    """Tied: the head uses the embedding, unless the file has another one. Untied: the file must have one"""
    got = tree.run(tied_heads, path=tree.model("tiny-qwen3"))
    untied = got["False absent"]
    silent = "raised" not in untied
    expect.raised(
        untied, "KeyError", mentions="lm_head", what="an untied model whose file has no lm_head", mistake="always-tied" if silent else None
    )  # fmt: skip
    own = got["True absent"]
    needs = "raised" in own and "lm_head" in own["text"]
    expect.that(not needs, "a tied model asks for a lm_head", [str(own.get("text"))[:100]], mistake="own-head-although-tied")
    want = {"True absent": "embedding", "True equal": "embedding", "True other": "own", "False equal": "own", "False other": "own"}
    for case, head in want.items():
        tied, file = case.split()
        what = f"tie_word_embeddings {tied}, lm_head in the file: {file}"
        answer = got[case]
        told = f"{answer.get('raised')}: {answer.get('text')}"[:150]
        early = "head-before-model" if "meta" in told.lower() else None  # the embedding had no values when the head was compared with it
        expect.that("raised" not in answer, f"the model does not load ({what})", [told], mistake=early)
        expect.equal(answer["head"], head, f"the weight that the head uses ({what})")
