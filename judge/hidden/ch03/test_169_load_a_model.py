"""Exercise 169, the gate: five architectures from their files."""

import weakref

import numpy as np

from judge import expect, prompts, questions
from judge.reference import MISTAKES, Reference

TINY = ("tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-qwen3-moe", "tiny-mistral")
SMOL = "SmolLM2-135M-Instruct"
KNOWN = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM")
PROMPT = [17, 250, 3, 99, 401, 8, 30]
ANSWERS = weakref.WeakKeyDictionary()  # tree -> what its tiny models gave
VARIANTS = weakref.WeakKeyDictionary()  # tree -> what the variants of one checkpoint gave


# ---- a question to Hugging Face, and the probes --------------------------------------------------------------------


def last_logits(model, prompts):
    """Float32 logits of the last position of each prompt, [prompts, vocab]."""
    import torch
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.inference_mode():
        return torch.stack([hf(torch.tensor([ids])).logits[0, -1] for ids in prompts])


def run_checkpoints(paths, prompts, watch=False, dtype="float32"):
    """Load each checkpoint with load_model and run its prompts as one prefill batch: logits of each prompt's last token.

    watch: also what the process grew by at most while it loaded (Linux; elsewhere it looks every half millisecond).
    """
    import json
    import threading
    import time
    from pathlib import Path
    from types import SimpleNamespace

    import torch
    import torch.nn.functional as F

    from minisgl.core import Batch, Context, Req, SamplingParams, set_global_ctx
    from minisgl.models import ModelConfig, load_model

    class Attention:
        def __init__(self, lens):
            self.lens = lens

        def forward(self, q, k, v, layer_id, batch, window=None):
            out = []
            for qs, ks, vs in zip(*(x.transpose(0, 1).split(self.lens, dim=1) for x in (q, k, v)), strict=True):
                age = torch.arange(qs.shape[1])[:, None] - torch.arange(qs.shape[1])
                mask = (age >= 0) & (age < (window or len(age)))
                out.append(F.scaled_dot_product_attention(qs, ks, vs, attn_mask=mask, enable_gqa=True))
            return torch.cat(out, dim=1).transpose(0, 1)

        def get_last_indices(self, size):
            return torch.tensor(self.lens).cumsum(0)[:size] - 1

    def resident(field):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))

    def grown(work):
        try:
            with open("/proc/self/clear_refs", "w") as control:
                control.write("5")  # the high-water mark starts again from here
        except OSError:
            import psutil

            process, seen, stop = psutil.Process(), [], threading.Event()

            def look():
                while not stop.is_set():
                    seen.append(process.memory_info().rss)
                    time.sleep(0.0005)

            before, thread = process.memory_info().rss, threading.Thread(target=look)
            thread.start()
            result = work()
            stop.set()
            thread.join()
            return result, max(seen) - before
        before = resident("VmRSS")
        result = work()
        return result, resident("VmHWM") - before

    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    found = []
    for path, rows in zip(paths, prompts, strict=True):
        config = ModelConfig.from_hf(SimpleNamespace(**json.loads((Path(path) / "config.json").read_text())))
        load = lambda path=path, config=config: load_model(path, config, "cpu", getattr(torch, dtype))  # noqa: E731
        model, peak = grown(load) if watch else (load(), None)
        answer = {"peak": peak, "default dtype": str(torch.get_default_dtype()), "default device": str(torch.get_default_device())}
        found.append(answer)
        weights = list(model.state_dict().values())
        answer["bytes"] = sum(w.nbytes for w in weights)
        answer["dtypes"] = sorted({str(w.dtype) for w in weights})
        answer["devices"] = sorted({w.device.type for w in weights})
        answer["class"] = type(model).__name__
        reqs = [Req(torch.tensor(ids, dtype=torch.int32), i, 0, 4, i, SamplingParams()) for i, ids in enumerate(rows)]
        batch = Batch(reqs, "prefill")
        batch.input_ids = torch.tensor([i for ids in rows for i in ids], dtype=torch.int32)
        batch.positions = torch.tensor([p for ids in rows for p in range(len(ids))], dtype=torch.int32)
        ctx.attn_backend = batch.attn_metadata = Attention([len(ids) for ids in rows])
        with torch.inference_mode(), ctx.forward_batch(batch):
            answer["logits"] = model.forward().float()
        del model, weights
    return found


def run_variants(path, shards, prompt):
    """Variants of one checkpoint, written anew and loaded: logits [vocab] after a prompt, or the exception.

    single: one file. sharded: the tensors dealt out to `shards` files, so that q, k and v lie apart. consolidated: one file, with a second copy under
    other names beside it. The others differ in lm_head and tie_word_embeddings.
    """
    import json
    from pathlib import Path
    from types import SimpleNamespace

    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file, save_file

    from minisgl.core import Batch, Context, Req, SamplingParams, set_global_ctx
    from minisgl.models import ModelConfig, load_model

    class Attention:
        def forward(self, q, k, v, layer_id, batch, window=None):
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(0, 1)

        def get_last_indices(self, size):
            return torch.tensor([len(prompt) - 1])

    plain = {}
    for file in sorted(Path(path).glob("*.safetensors")):
        plain |= load_file(file)
    plain.pop("lm_head.weight", None)
    facts = json.loads((Path(path) / "config.json").read_text())
    embedding = plain["model.embed_tokens.weight"]
    own = {"lm_head.weight": embedding.flip(0).contiguous()}
    same = {"lm_head.weight": embedding.clone()}
    cases = {
        "single": (plain | own, False), "sharded": (plain | own, False), "consolidated": (plain | own, False), "tied": (plain, True),
        "tied, equal head": (plain | same, True), "tied, other head": (plain | own, True), "untied, no head": (plain, False),
        "a weight too many": (plain | own | {"model.layers.0.self_attn.sinks": torch.ones(4)}, False),
        "a weight missing": ({k: v for k, v in (plain | own).items() if k != "model.norm.weight"}, False),
    }  # fmt: skip
    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    found = {}
    for case, (tensors, tied) in cases.items():
        folder = Path(case.replace(" ", "-"))
        folder.mkdir()
        if case == "sharded":
            names, where = sorted(tensors), {}
            for i in range(shards):
                file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
                part = {n: tensors[n] for n in names[i::shards]}
                save_file(part, folder / file)
                where |= dict.fromkeys(part, file)
            (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
        else:
            save_file(tensors, folder / "model.safetensors")
        if case == "consolidated":
            save_file({f"layers.{i}": t.clone() for i, t in enumerate(tensors.values())}, folder / "consolidated.safetensors")
        config = ModelConfig.from_hf(SimpleNamespace(**facts | {"tie_word_embeddings": tied}))
        try:
            model = load_model(folder, config, "cpu", torch.float32)
        except Exception as error:
            if str(error).startswith("TODO"):
                raise
            found[case] = {"raised": type(error).__name__, "text": str(error)}
            continue
        batch = Batch([Req(torch.tensor(prompt, dtype=torch.int32), 0, 0, 4, 1, SamplingParams())], "prefill")
        batch.input_ids = torch.tensor(prompt, dtype=torch.int32)
        batch.positions = torch.arange(len(prompt), dtype=torch.int32)
        ctx.attn_backend = batch.attn_metadata = Attention()
        with torch.inference_mode(), ctx.forward_batch(batch):
            found[case] = {"logits": model.forward()[0]}
    return found


def create(path, architectures):
    """create_model for each tuple of names: the model's class, or the exception; and load_model for the last of them."""
    import dataclasses
    import json
    from pathlib import Path
    from types import SimpleNamespace

    import torch

    from minisgl.layers import set_rope_device
    from minisgl.models import ModelConfig, create_model, load_model

    config = ModelConfig.from_hf(SimpleNamespace(**json.loads((Path(path) / "config.json").read_text())))
    set_rope_device("cpu")
    found = []
    for i, names in enumerate([*architectures, architectures[-1]]):
        changed = dataclasses.replace(config, architectures=tuple(names))
        try:
            if i == len(architectures):
                model = load_model(path, changed, "cpu", torch.float32)
            else:
                model = create_model(changed)
            found.append({"class": type(model).__name__})
        except NotImplementedError:
            raise
        except Exception as error:
            found.append({"raised": type(error).__name__, "text": str(error)})
    found.append({"default dtype": str(torch.get_default_dtype()), "default device": str(torch.get_default_device())})
    return found


def how_it_is_built(path):
    """Where the model is while it is built, and where it and its rotary tables are afterwards."""
    import json
    from pathlib import Path
    from types import SimpleNamespace

    import torch

    from minisgl.layers import RotaryEmbedding
    from minisgl.models import ModelConfig, load_model, register

    seen = {}
    real = register.MODELS["Qwen3ForCausalLM"]

    class Spy(real):
        def __init__(self, config):
            super().__init__(config)
            weights = list(self.state_dict().values())
            seen["device"] = sorted({w.device.type for w in weights})
            seen["dtype"] = sorted({str(w.dtype) for w in weights})

    register.MODELS["Qwen3ForCausalLM"] = Spy
    config = ModelConfig.from_hf(SimpleNamespace(**json.loads((Path(path) / "config.json").read_text())))
    model = load_model(path, config, torch.device("cpu"), torch.bfloat16)
    tables, stack, done = [], [model], set()
    while stack:
        item = stack.pop()
        if id(item) in done:
            continue
        done.add(id(item))
        if isinstance(item, RotaryEmbedding):
            tables += [x for x in vars(item).values() if isinstance(x, torch.Tensor)]
        stack += item if isinstance(item, list) else [x for x in vars(item).values() if hasattr(x, "__dict__") or isinstance(x, list)]
    weights = list(model.state_dict().values())
    return {
        "built on": seen.get("device"), "built as": seen.get("dtype"), "used": bool(seen),
        "weights": sorted({f"{w.dtype} {w.device.type}" for w in weights}), "tables": sorted({f"{t.dtype} {t.device.type}" for t in tables}),
        "default": [str(torch.get_default_dtype()), str(torch.get_default_device())],
    }  # fmt: skip


# ---- helpers -------------------------------------------------------------------------------------------------------


def encoded(oracle, name):
    return oracle.ask(questions.encode, model=name, texts=prompts.PROMPTS)


def tiny_answers(tree, oracle):
    """All five tiny models, loaded and run in one probe."""
    if tree not in ANSWERS:
        rows = [encoded(oracle, name) for name in TINY]
        ANSWERS[tree] = tree.run(run_checkpoints, paths=[tree.model(name) for name in TINY], prompts=rows)
    return dict(zip(TINY, ANSWERS[tree], strict=True))


def variants(tree):
    """All variants of one checkpoint, written and loaded in one probe."""
    if tree not in VARIANTS:
        VARIANTS[tree] = tree.run(run_variants, path=tree.model("tiny-qwen3"), shards=4, prompt=PROMPT)
    return VARIANTS[tree]


def compare_logits(name, got, want, rows, path):
    """Within 1e-4 of Hugging Face; a difference is compared with the known mistakes of whole models."""
    if isinstance(got, np.ndarray) and got.shape == want.shape and not np.allclose(got, want, atol=1e-4, rtol=0):
        middle = min(range(len(rows)), key=lambda i: abs(len(rows[i]) - 12))
        reference = Reference(path)
        for mistake, (text, _) in MISTAKES.items():
            if np.allclose(reference.forward(rows[middle], mistake=mistake)[-1], got[middle], atol=1e-3):
                raise expect.Mismatch("mismatch", f"the logits of {name} are those of a model in which {text}")
    expect.close(got, want, name=f"the logits of {name}", axes=("prompt", "token id"), dtype="float32")


# ---- tests ---------------------------------------------------------------------------------------------------------


def test_llama_and_mistral(tree, oracle):
    """Llama and Mistral: the logits equal Hugging Face's within 1e-4"""
    for name in ("tiny-llama", "tiny-mistral"):
        rows = encoded(oracle, name)
        want = oracle.ask(last_logits, model=name, prompts=rows)
        compare_logits(name, tiny_answers(tree, oracle)[name]["logits"], want, rows, tree.model(name))


def test_qwen(tree, oracle):
    """Qwen2 and Qwen3: the logits equal Hugging Face's within 1e-4"""
    for name in ("tiny-qwen2", "tiny-qwen3"):
        rows = encoded(oracle, name)
        want = oracle.ask(last_logits, model=name, prompts=rows)
        compare_logits(name, tiny_answers(tree, oracle)[name]["logits"], want, rows, tree.model(name))


def test_qwen_moe(tree, oracle):
    """Qwen3-MoE, from a checkpoint of two files: the logits equal Hugging Face's within 1e-4"""
    rows = encoded(oracle, "tiny-qwen3-moe")
    want = oracle.ask(last_logits, model="tiny-qwen3-moe", prompts=rows)
    compare_logits("tiny-qwen3-moe", tiny_answers(tree, oracle)["tiny-qwen3-moe"]["logits"], want, rows, tree.model("tiny-qwen3-moe"))


def test_smollm2(tree, oracle):
    """SmolLM2 in float32: logits within 1e-4 of Hugging Face's; loading it takes at most 1.3 times its bytes"""
    rows = encoded(oracle, SMOL)
    want = oracle.ask(last_logits, model=SMOL, prompts=rows)
    (got,) = tree.run(run_checkpoints, paths=[tree.model(SMOL)], prompts=[rows], watch=True)
    not_cast = got["dtypes"] == ["torch.bfloat16"]
    expect.that(not not_cast, "the weights are bfloat16, as in the file; float32 was asked for", mistake="dtype-of-the-file")
    compare_logits(SMOL, got["logits"], want, rows, tree.model(SMOL))
    told = [
        f"the model in float32: {got['bytes'] / 1e6:.0f} MB; the file, in bfloat16: {got['bytes'] / 2e6:.0f} MB",
        f"the process grew by up to {got['peak'] / 1e6:.0f} MB, {got['peak'] / got['bytes']:.2f} times the model; at most 1.30 are allowed",
    ]
    expect.that(got["peak"] <= 1.3 * got["bytes"], "loading takes too much memory", told, mistake="all-weights-in-two-dtypes")


def test_smollm2_as_stored(tree):
    """SmolLM2 in the dtype of its file: loading it takes at most 1.3 times the model's bytes"""
    (got,) = tree.run(run_checkpoints, paths=[tree.model(SMOL)], prompts=[[[1]]], watch=True, dtype="bfloat16")
    told = [
        f"the model: {got['bytes'] / 1e6:.0f} MB",
        f"the process grew by up to {got['peak'] / 1e6:.0f} MB, {got['peak'] / got['bytes']:.2f} times the model; at most 1.30 are allowed",
    ]
    expect.equal(got["dtypes"], ["torch.bfloat16"], "the weights' dtypes")
    expect.that(got["peak"] <= 1.3 * got["bytes"], "loading takes too much memory", told)


def test_files(tree):
    """One file, several files, and a second copy beside them give the same model"""
    got = variants(tree)
    for case in ("single", "sharded", "consolidated"):
        expect.that("raised" not in got[case], f"the {case} checkpoint does not load", [f"{got[case].get('raised')}: {got[case].get('text')}"[:150]])
    for case in ("sharded", "consolidated"):
        expect.close(got[case]["logits"], got["single"]["logits"], atol=0, name=f"the logits of the {case} checkpoint")


def test_heads(tree):
    """A tied head, one that the file has all the same, and one that is missing"""
    got = variants(tree)
    reference = Reference(tree.model("tiny-qwen3"))
    embedding = reference.weights(np.float32)["model.embed_tokens.weight"]
    record = {}
    reference.forward(PROMPT, record=record)
    hidden = record["norm"][-1]
    for case in ("tied", "tied, equal head", "tied, other head", "single"):
        told = f"{got[case].get('raised')}: {got[case].get('text')}"[:150]
        expect.that("raised" not in got[case], f"the checkpoint ({case}) does not load", [told])
        head = embedding[::-1] if case in ("tied, other head", "single") else embedding
        dropped = {"own-head-dropped": embedding @ hidden} if case == "tied, other head" else {}
        expect.close(got[case]["logits"], head @ hidden, name=f"the logits ({case})", axes=("token id",), suspects=dropped)
    made_up = "missing-weights-made-up" if "raised" not in got["untied, no head"] else None
    expect.raised(got["untied, no head"], "KeyError", mentions="lm_head", what="an untied model whose file has no lm_head", mistake=made_up)


def test_leftover_and_missing(tree):
    """A weight that no layer asks for, and one that is missing, are errors that name it"""
    got = variants(tree)
    lenient = "raised" not in got["a weight too many"]
    mistake = "leftover-weights-ignored" if lenient else None
    expect.raised(got["a weight too many"], "RuntimeError", mentions="sinks", what="a checkpoint with a weight that no layer has", mistake=mistake)
    made_up = "missing-weights-made-up" if "raised" not in got["a weight missing"] else None
    expect.raised(got["a weight missing"], "KeyError", mentions="model.norm.weight", what="a checkpoint without the last norm", mistake=made_up)


def test_architectures(tree):
    """Each architecture has its class; an unknown one, or none, is refused with the names of the known ones"""
    unknown = [["GPTNeoXForCausalLM"], [], ["FalconForCausalLM", "LlamaForCausalLM"], ["Qwen3NextForCausalLM"]]
    cases = [[name] for name in KNOWN if name != "Qwen3MoeForCausalLM"] + [["Qwen3ForCausalLM", "FalconForCausalLM"]] + unknown
    got = tree.run(create, path=tree.model("tiny-qwen3"), architectures=cases)
    classes = [answer.get("class", answer.get("raised")) for answer in got[:5]]
    expect.equal(classes, [*KNOWN[:4], "Qwen3ForCausalLM"], "the classes of the models", suspects={"last-name-wins": "ValueError" in classes[4:]})
    refused = got[5:10]
    kinds = [answer.get("raised", answer.get("class")) for answer in refused]
    suspects = {
        "unknown-becomes-llama": [k == "LlamaForCausalLM" for k in kinds].count(True) >= 3,
        "key-error-for-unknown": "KeyError" in kinds and set(kinds) <= {"KeyError", "IndexError", "ValueError"},
        "any-known-name": kinds[2] == "LlamaForCausalLM" and kinds[0] == kinds[3] == "ValueError",
    }
    mistake = next((m for m, hit in suspects.items() if hit), None)
    for answer, names in zip(refused, [*unknown, unknown[-1]], strict=True):
        what = f"an architecture {names[0]}" if names else "a config that names no architecture"
        expect.raised(answer, "ValueError", mentions=names[0] if names else None, what=what, mistake=mistake)
        for name in KNOWN:
            expect.that(name in answer["text"], f"the error for {what} must list the known architectures", [f"its text: {answer['text'][:120]}"])
    left = {"defaults-left-changed": list(got[10].values()) != ["torch.float32", "cpu"]}
    expect.equal(got[10], {"default dtype": "torch.float32", "default device": "cpu"}, "torch's defaults after an error", suspects=left)


def test_how_it_is_built(tree, oracle):
    """The model is built without memory, in the dtype that was asked for; its rotary tables stay float32; torch's defaults stay"""
    got = tree.run(how_it_is_built, path=tree.model("tiny-qwen3"))
    expect.that(got["used"], "load_model does not build the class that MODELS has for the architecture")
    told = [f"its weights were made on: {', '.join(got['built on'] or [])}"]
    expect.that(got["built on"] == ["meta"], "the model is built with memory for all its weights", told, mistake="built-with-memory")
    of_file = {"dtype-of-the-file": ["torch.float32 cpu"]}
    expect.equal(got["weights"], ["torch.bfloat16 cpu"], "dtype and device of the loaded weights", suspects=of_file)
    expect.equal(got["tables"], ["torch.float32 cpu"], "dtype and device of the rotary tables")
    changed = {"defaults-left-changed": got["default"] != ["torch.float32", "cpu"]}
    expect.equal(got["default"], ["torch.float32", "cpu"], "torch's defaults afterwards", suspects=changed)
    for name, answer in tiny_answers(tree, oracle).items():
        expect.equal(answer["devices"], ["cpu"], f"the devices of the weights of {name}")
        expect.equal(answer["dtypes"], ["torch.float32"], f"the dtypes of the weights of {name}")
