"""Exercise 139, the gate: the whole engine against Hugging Face, on tiny models and on SmolLM2."""

import numpy as np

from judge import expect, questions
from judge.prompts import PROMPTS, STEPS
from judge.reference import Reference
from judge.reference_parts import rms_norm, rope_tables, rotate_halves, silu, softmax

TINY = ("tiny-llama", "tiny-qwen3")
SMOL = "SmolLM2-135M-Instruct"
SMOL_PROMPTS = [PROMPTS[5], "The capital of Italy is Rome. The capital of Spain is Madrid. The capital of France is"]
SMOL_STEPS = 16
LONG = "Once upon a time there was a small engine"
TOLERANCE = 1e-4
LAYER_MISTAKES = (
    "mlp-added-to-its-norm", "attention-added-to-its-norm", "mlp-reads-the-old-x", "attention-not-added", "mlp-not-added", "no-qk-norm",
    "qk-norm-after-rope", "values-turned-too", "keys-not-turned", "queries-not-turned", "norms-swapped", "mlp-without-norm",
    "attention-without-norm", "positions-ignored-by-the-layer", "k-and-v-swapped", "heads-mixed-up",
)  # fmt: skip
FORWARD_MISTAKES = (
    "positions-from-zero", "positions-one-too-high", "no-final-norm", "first-row", "embedding-as-head", "layers-in-reverse", "last-layer-left-out",
    "first-layer-for-all",
)  # fmt: skip


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def layers(path, inputs, cut):
    """Each layer on its own: rows 0 to `cut` of its input, then the rest behind the cache. Tensors after each step.

    "middle" is the output with an MLP that adds nothing: its last matrix is zero.
    """
    import copy

    import torch

    from tiny_engine import KVCache, TinyEngine

    engine, rows = TinyEngine(path), []
    pieces = [slice(0, cut), slice(cut, len(inputs[0]))]
    with torch.inference_mode():
        for i, x in enumerate(inputs):
            half = copy.copy(engine)
            name = f"model.layers.{i}.mlp.down_proj.weight"
            half.weights = engine.weights | {name: torch.zeros_like(engine.weights[name])}
            found = {}
            for kind, model in (("middle", half), ("out", engine)):
                cache, outputs = KVCache(len(inputs)), []
                for piece in pieces:
                    outputs.append(model.layer(i, x[piece].clone(), torch.arange(piece.start, piece.stop), cache))
                found[kind] = [None if out is None else out.clone() for out in outputs]
            found["k"], found["v"] = cache.keys[i], cache.values[i]
            found["others"] = sum(t is not None for j, t in enumerate(cache.keys) if j != i)
            rows.append(found)
    return rows


def run_pieces(path, sequences):
    """Each sequence piece by piece through one cache: the logits after each piece, and what the layers gave and stored."""
    import torch

    from tiny_engine import KVCache, TinyEngine

    class Recording(TinyEngine):
        def layer(self, i, *rest, **named):
            out = super().layer(i, *rest, **named)
            if isinstance(out, torch.Tensor):
                seen.setdefault(i, []).append(out.detach().clone())
            return out

    engine, answers = Recording(path), []
    with torch.inference_mode():
        for pieces in sequences:
            seen, cache, logits = {}, KVCache(engine.config.num_layers), []
            for piece in pieces:
                logits.append(engine.forward(piece, cache))
            out = [torch.cat(seen[i]) if i in seen else None for i in range(engine.config.num_layers)]
            answers.append({"logits": logits, "out": out, "k": cache.keys, "v": cache.values, "length": cache.length})
    return answers


def greedy_run(path, prompts, count):
    """`count` greedy tokens after each prompt by the loop, with the logits that they were taken from; then generate's."""
    import torch

    from tiny_engine import KVCache, TinyEngine, greedy_loop

    engine, answers = TinyEngine(path), []
    with torch.inference_mode():
        for ids in prompts:
            cache, logits = KVCache(engine.config.num_layers), []

            def step(token_ids, cache=cache, logits=logits):
                logits.append(engine.forward(token_ids, cache))
                return logits[-1] if logits[-1].dim() == 1 else logits[-1].flatten(0, -2)[-1]

            tokens = list(greedy_loop(step, ids, count, frozenset()))
            answers.append({"tokens": tokens, "logits": logits})
    return answers


def two_requests(path, first, second):
    """Two requests that take turns, piece by piece: the logits after each piece; then the first one again, alone."""
    import torch

    from tiny_engine import KVCache, TinyEngine

    engine = TinyEngine(path)
    with torch.inference_mode():
        caches = [KVCache(engine.config.num_layers) for _ in range(2)]
        turns = [[engine.forward(piece, cache).clone() for piece, cache in zip(pair, caches)] for pair in zip(first, second)]
        cache = KVCache(engine.config.num_layers)
        again = [engine.forward(piece, cache).clone() for piece in first]
    return {"turns": turns, "again": again}


def refused(path, cases):
    """What forward raises for each list of ids."""
    from tiny_engine import KVCache, TinyEngine

    engine, rows = TinyEngine(path), []
    for ids in cases:
        try:
            engine.forward(ids, KVCache(engine.config.num_layers))
            rows.append({})
        except (ValueError, IndexError) as error:
            rows.append({"raised": type(error).__name__, "text": str(error)})
    return rows


# ---- a second model in numpy, which can make the mistakes ---------------------------------------------------------


class Model:
    """The engine of this chapter in numpy, in pieces behind a cache; `mistake` is one that people make on purpose here."""

    def __init__(self, reference, mistake=None):
        self.reference, self.mistake = reference, mistake
        self.w, self.c = reference.weights(np.float32), reference.config
        self.N, self.K = self.c["num_attention_heads"], self.c["num_key_value_heads"]
        self.D = self.c.get("head_dim") or self.c["hidden_size"] // self.N

    def norm(self, x, name):
        return rms_norm(x, self.w[f"{name}.weight"], self.c["rms_norm_eps"])

    def layer(self, i, x, positions, cache, mlp=True):
        is_ = lambda name: name == self.mistake  # noqa: E731
        p, T = f"model.layers.{i}", len(x)
        names = ["input_layernorm", "post_attention_layernorm"]
        first, second = names[::-1] if is_("norms-swapped") else names
        h = x if is_("attention-without-norm") else self.norm(x, f"{p}.{first}")
        q, k, v = (h @ self.w[f"{p}.self_attn.{s}_proj.weight"].T for s in "qkv")
        q, k, v = q.reshape(T, self.N, self.D), k.reshape(T, self.K, self.D), v.reshape(T, self.K, self.D)
        if is_("k-and-v-swapped"):
            k, v = v, k
        tables = rope_tables(self.c, int(positions.max()) + 2)
        places = np.arange(T) if is_("positions-ignored-by-the-layer") else positions
        cos, sin = (table[places] for table in tables)
        turn = lambda y: rotate_halves(y, cos, sin)  # noqa: E731
        normed = f"{p}.self_attn.q_norm.weight" in self.w and not is_("no-qk-norm")
        if normed and not is_("qk-norm-after-rope"):
            q, k = self.norm(q, f"{p}.self_attn.q_norm"), self.norm(k, f"{p}.self_attn.k_norm")
        q = q if is_("queries-not-turned") else turn(q)
        k = k if is_("keys-not-turned") else turn(k)
        v = turn(v) if is_("values-turned-too") else v
        if normed and is_("qk-norm-after-rope"):
            q, k = self.norm(q, f"{p}.self_attn.q_norm"), self.norm(k, f"{p}.self_attn.k_norm")
        old = cache.get(i)
        k, v = (np.concatenate(pair) for pair in zip(old, (k, v), strict=True)) if old else (k, v)
        cache[i] = k, v
        k, v = (np.repeat(y, self.N // self.K, axis=1) for y in (k, v))
        scores = q.swapaxes(0, 1) @ k.transpose(1, 2, 0) / np.float32(self.D**0.5)
        hidden = np.arange(len(k)) > np.arange(len(k) - T, len(k))[:, None]
        attn = softmax(np.where(hidden, np.float32(-np.inf), scores)) @ v.swapaxes(0, 1)
        attn = (attn if is_("heads-mixed-up") else attn.swapaxes(0, 1)).reshape(T, -1) @ self.w[f"{p}.self_attn.o_proj.weight"].T
        y = attn if is_("attention-not-added") else attn + (h if is_("attention-added-to-its-norm") else x)
        h = y if is_("mlp-without-norm") else self.norm(x if is_("mlp-reads-the-old-x") else y, f"{p}.{second}")
        gate, up, down = (self.w[f"{p}.mlp.{s}_proj.weight"].T for s in ("gate", "up", "down"))
        more = (silu(h @ gate) * (h @ up)) @ down if mlp else 0 * x
        return more if is_("mlp-not-added") else more + (h if is_("mlp-added-to-its-norm") else y)

    def forward(self, ids, cache):
        is_ = lambda name: name == self.mistake  # noqa: E731
        last_layer = self.c["num_hidden_layers"] - 1
        length = len(cache[last_layer][0]) if last_layer in cache else 0
        start = 0 if is_("positions-from-zero") else length + 1 if is_("positions-one-too-high") else length
        x = self.w["model.embed_tokens.weight"][np.asarray(ids)]
        order = list(range(self.c["num_hidden_layers"]))
        order = order[::-1] if is_("layers-in-reverse") else order[:-1] if is_("last-layer-left-out") else order
        for i in order:
            x = self.layer(0 if is_("first-layer-for-all") else i, x, np.arange(start, start + len(ids)), cache)
        last = x[:1] if is_("first-row") else x[-1:]
        last = last if is_("no-final-norm") else self.norm(last, "model.norm")
        tied = self.c.get("tie_word_embeddings") or is_("embedding-as-head")
        return (last @ self.w["model.embed_tokens.weight" if tied else "lm_head.weight"].T)[0]

    def run(self, pieces):
        cache = {}
        return [self.forward(piece, cache) for piece in pieces]


# ---- comparisons -------------------------------------------------------------------------------------------------


def near(found, want, atol=TOLERANCE):
    if not isinstance(found, np.ndarray) or found.shape != np.shape(want):
        return False
    return bool(np.all(np.abs(np.asarray(found, np.float64) - want) <= atol))


def size_of_error(found, want):
    return f"largest error {np.max(np.abs(np.nan_to_num(np.asarray(found, np.float64), nan=np.inf) - want)):.3g}, allowed {TOLERANCE:g}"


def layer_cases(references):
    """For each model: the inputs of its layers in a right run, where they are cut, and what each layer must give."""
    cases = {}
    for name, (reference, ids) in references.items():
        record = {}
        reference.forward(ids, record=record)
        count = reference.config["num_hidden_layers"]
        inputs = [record["embed"], *(record[f"layers.{i}.out"] for i in range(count - 1))]
        want = []
        for i in range(count):
            at = f"layers.{i}."
            want.append({
                "k": record[at + "k_rope"], "v": record[at + "v"], "middle": inputs[i] + record[at + "attn_out"], "out": record[at + "out"],
            })  # fmt: skip
        cases[name] = {"inputs": inputs, "cut": len(ids) - 3, "want": want}
    return cases


STEPS_OF_A_LAYER = (
    ("k", "the keys in the cache", "norm, k_proj, the head norm of k, or RoPE"),
    ("v", "the values in the cache", "norm or v_proj"),
    ("middle", "x after attention", "q, what attention is called with, o_proj, or the addition"),
    ("out", "x after the MLP", "the second norm, the MLP, or the addition"),
)


def made_by(reference, inputs, cut, mistake):
    """What the layers give with a mistake, in the form of the probe `layers`."""
    model, rows = Model(reference, mistake), []
    for i, x in enumerate(inputs):
        row = {}
        for kind in ("middle", "out"):
            cache = {}
            pieces = (slice(0, cut), slice(cut, len(x)))
            row[kind] = np.concatenate([model.layer(i, x[p], np.arange(p.start, p.stop), cache, kind == "out") for p in pieces])
        row["k"], row["v"] = cache[i]
        rows.append(row)
    return rows


def joined(row):
    """The evidence about one layer with its pieces put together, after a look at the shapes."""
    return {name: np.concatenate(row[name]) if isinstance(row[name], list) else row[name] for name in ("k", "v", "middle", "out")}


def where_it_leaves(name, reference, ids, answer):
    """The first layer and tensor of a run that differ from the reference: a headline and what to look at."""
    record = {}
    reference.forward(ids, record=record)
    for i in range(reference.config["num_hidden_layers"]):
        at = f"layers.{i}."
        tensors = (("k", "the keys in the cache", "k_rope"), ("v", "the values in the cache", "v"), ("out", "x after the layer", "out"))
        for kind, what, key in tensors:
            found, want = answer[kind][i], record[at + key]
            if kind == "out" and found is None:  # forward does not go through self.layer
                continue
            if not isinstance(found, np.ndarray) or found.shape != want.shape:
                shape = list(found.shape) if isinstance(found, np.ndarray) else None
                return f"{name}: the run first leaves the reference in layer {i}: {what}", [f"shape {shape}, want {list(want.shape)}"]
            if not near(found, want, 1e-3):
                wrong = np.abs(np.asarray(found, np.float64) - want).reshape(len(want), -1).max(1) > 1e-3
                lines = [size_of_error(found, want), f"first wrong row: token {int(np.argmax(wrong))} of {len(want)}"]
                if i == 0 and kind in "kv":
                    lines.append("before it: the embedding rows, " + ("their positions, " if kind == "k" else "") + "or the layer itself")
                return f"{name}: the run first leaves the reference in layer {i}: {what}", lines
    return f"{name}: all layers agree with the reference, the logits do not", ["after them: the last row, model.norm, lm_head"]


def same_logits(name, reference, sequences, answers, want, suspects=None):
    """Logits after every piece within 1e-4 of Hugging Face's; else the first layer and tensor that differ."""
    for pieces, answer, rows in zip(sequences, answers, want, strict=True):
        ids = [token for piece in pieces for token in piece]
        ends = np.cumsum([len(piece) for piece in pieces]) - 1
        for at, (end, found) in enumerate(zip(ends, answer["logits"], strict=True)):
            label = f"{name}: the logits after piece {at + 1} of {len(pieces)} ({len(ids)} tokens in all)"
            expect.is_tensor(found, label, shape=np.shape(rows[end]), dtype="float32")
            if near(found, rows[end]):
                continue
            mistake = next((m for m, explains in (suspects or {}).items() if explains()), None)
            headline, lines = where_it_leaves(name, reference(), ids, answer)
            lines = [f"{label}: {size_of_error(found, rows[end])}", *lines]
            expect.that(False, headline, lines, mistake=mistake, kind="divergence")
        expect.equal(answer["length"], len(ids), f"{name}: the length of the cache after {len(ids)} tokens")


def forward_suspects(models, evidence):
    """Mistakes that explain the logits of all models and sequences; each is computed only if it is asked for."""

    def explains(mistake):
        for name, (sequences, answers) in evidence.items():
            model = Model(models[name], mistake)
            for pieces, answer in zip(sequences, answers, strict=True):
                with np.errstate(all="ignore"):
                    if not all(near(found, other, 1e-3) for found, other in zip(answer["logits"], model.run(pieces), strict=True)):
                        return False
        return True

    return {mistake: (lambda m=mistake: explains(m)) for mistake in (*FORWARD_MISTAKES, *LAYER_MISTAKES)}


def in_three(ids):
    """A prompt in up to three pieces: a half, one token, the rest."""
    half = len(ids) // 2
    return [piece for piece in (ids[:half], ids[half : half + 1], ids[half + 1 :]) if piece]


# ---- tests -------------------------------------------------------------------------------------------------------


def test_each_layer(tree, oracle):
    """Every layer gives the reference's keys, values and x, tensor by tensor, in two pieces behind a cache"""
    references = {}
    for name in TINY:
        path = tree.model(name)
        references[name] = Reference(path), oracle.ask(questions.encode, model=name, texts=[LONG])[0]
    cases = layer_cases(references)
    got = {name: tree.run(layers, path=tree.model(name), inputs=case["inputs"], cut=case["cut"]) for name, case in cases.items()}
    for name, case in cases.items():
        for i, (row, x) in enumerate(zip(got[name], case["inputs"], strict=True)):
            for kind in ("middle", "out"):
                for out, size in zip(row[kind], (case["cut"], len(x) - case["cut"]), strict=True):
                    expect.is_tensor(out, f"{name}: x after layer {i}", shape=(size, x.shape[1]), dtype="float32")
    lost = all(row["others"] == 1 and row["k"] is None for rows in got.values() for row in rows[1:])
    for name, rows in got.items():
        for i, row in enumerate(rows):
            what = f"{name}: the number of other layers to whose cache layer {i} adds tokens"
            expect.equal(row["others"], 0, what, suspects={"cache-of-layer-zero": lost})
    together = {name: [joined(row) for row in rows] for name, rows in got.items()}

    def explains(mistake):
        for name, case in cases.items():
            with np.errstate(all="ignore"):
                other = made_by(references[name][0], case["inputs"], case["cut"], mistake)
            for a, b in zip(together[name], other, strict=True):
                if not all(near(a[kind], b[kind], 1e-3) for kind in ("k", "v", "middle", "out")):
                    return False
        return True

    for name, case in cases.items():
        for i, (row, right) in enumerate(zip(together[name], case["want"], strict=True)):
            for kind, what, causes in STEPS_OF_A_LAYER:
                found, want = row[kind], right[kind]
                expect.is_tensor(found, f"{name}, layer {i}: {what}", shape=want.shape)
                if not near(found, want):
                    mistake = next((m for m in LAYER_MISTAKES if explains(m)), None)
                    headline = f"{name}: layer {i} first leaves the reference in {what}"
                    expect.that(False, headline, [size_of_error(found, want), f"before it: {causes}"], mistake=mistake, kind="divergence")


def test_prefill_and_pieces(tree, oracle):
    """Logits equal Hugging Face's within 1e-4 on tiny Llama and Qwen3, for whole prompts and for pieces behind a cache"""
    models, evidence, answers = {}, {}, {}
    for name in TINY:
        ids = oracle.ask(questions.encode, model=name, texts=PROMPTS)
        sequences = [[prompt] for prompt in ids] + [in_three(prompt) for prompt in ids[2:6]]
        answers[name] = oracle.ask(questions.logits, model=name, prompts=ids)
        answers[name] = answers[name] + answers[name][2:6]
        models[name] = Reference(tree.model(name))
        evidence[name] = sequences, tree.run(run_pieces, path=tree.model(name), sequences=sequences)
    suspects = forward_suspects(models, evidence)
    for name, (sequences, got) in evidence.items():
        same_logits(name, lambda name=name: models[name], sequences, got, answers[name], suspects)
    tree.tiny_models_agree = True


def test_positions(tree, oracle):
    """Token t of a sequence stands at position t, whatever pieces it comes in: the keys in the cache show it"""
    for name in TINY:
        ids = oracle.ask(questions.encode, model=name, texts=[LONG])[0]
        model, record, shifted = Reference(tree.model(name)), {}, {}
        model.forward(ids, record=record)
        Model(model, "positions-one-too-high").forward(ids, shifted)
        for pieces in ([ids], in_three(ids)):
            keys = tree.run(run_pieces, path=tree.model(name), sequences=[pieces])[0]["k"][0]
            label = f"{name}: the keys of layer 0 after {len(pieces)} pieces"
            too_many = isinstance(keys, np.ndarray) and len(keys) == len(ids) * model.config["num_hidden_layers"]
            suspects = {"positions-one-too-high": shifted[0][0], "cache-of-layer-zero": too_many}
            expect.close(keys, record["layers.0.k_rope"], name=label, axes=("token", "head", "channel"), suspects=suspects)


def test_greedy_tokens(tree, oracle):
    """16 greedy tokens of the tiny models, and the logits of each step, equal Hugging Face's"""
    for name in TINY:
        ids = oracle.ask(questions.encode, model=name, texts=PROMPTS)
        same_greedy(name, ids, PROMPTS, tree.run(greedy_run, path=tree.model(name), prompts=ids, count=STEPS), oracle, STEPS)


def same_greedy(name, ids, texts, got, oracle, count):
    want = oracle.ask(questions.greedy, model=name, prompts=ids, count=count)
    for row, right in zip(got, want, strict=True):
        for found in row["logits"]:
            expect.is_tensor(found, f"{name}: the logits of a step", shape=right["logits"].shape[1:], dtype="float32")
    expect.same_tokens([row["tokens"] for row in got], [row["tokens"] for row in want], prompts=[f"{name}: {text}" for text in texts])
    for row, right, text in zip(got, want, texts, strict=True):
        expect.close(np.stack(row["logits"]), right["logits"], name=f"{name}: the logits of the new tokens after {text[:20]!r}", axes=("token", "id"))


def only_if_tiny_models_agree(tree):
    """SmolLM2 takes seconds and would say nothing new about an engine that fails on tiny models."""
    expect.that(getattr(tree, "tiny_models_agree", False), "not tried, because the tiny models differ from Hugging Face already")


def test_smollm2_logits(tree, oracle):
    """SmolLM2: the logits of a prompt and of a piece behind it are within 1e-4 of Hugging Face's"""
    only_if_tiny_models_agree(tree)
    ids = oracle.ask(questions.encode, model=SMOL, texts=SMOL_PROMPTS)
    sequences = [in_three(ids[0]), [ids[1]]]
    want = oracle.ask(questions.logits, model=SMOL, prompts=ids)
    got = tree.run(run_pieces, path=tree.model(SMOL), sequences=sequences)
    same_logits(SMOL, lambda: Reference(tree.model(SMOL)), sequences, got, want)


def test_smollm2_tokens(tree, oracle):
    """SmolLM2: 16 greedy tokens equal Hugging Face's"""
    only_if_tiny_models_agree(tree)
    ids = oracle.ask(questions.encode, model=SMOL, texts=SMOL_PROMPTS)
    got = tree.run(greedy_run, path=tree.model(SMOL), prompts=ids, count=SMOL_STEPS)
    same_greedy(SMOL, ids, SMOL_PROMPTS, got, oracle, SMOL_STEPS)


def test_two_requests(tree, oracle):
    """Two requests that take turns do not disturb each other, and a request that is run again gives the same"""
    name = "tiny-qwen3"
    ids = oracle.ask(questions.encode, model=name, texts=PROMPTS)
    first, second = in_three(ids[3]), in_three(ids[5])
    got = tree.run(two_requests, path=tree.model(name), first=first, second=second)
    rows = oracle.ask(questions.logits, model=name, prompts=ids)
    wants = [rows[at][np.cumsum([len(piece) for piece in pieces]) - 1] for at, pieces in ((3, first), (5, second))]
    for turn, *want in zip(got["turns"], *wants, strict=True):
        for found, right in zip(turn, want, strict=True):
            expect.close(found, right, name="the logits of a request while another one runs", axes=("id",))
    for found, right in zip(got["again"], wants[0], strict=True):
        expect.close(found, right, name="the logits of a request that is run a second time", axes=("id",))


def test_errors(tree):
    """No token is refused with ValueError, an id outside the vocabulary with IndexError"""
    cases = [[[], "ValueError", "an empty list of tokens"]]
    cases += [[ids, "IndexError", f"the id {bad} of a vocabulary of 512"] for ids, bad in (([3, 512], 512), ([-1, 4], -1), ([70_000], 70_000))]
    mistakes = [None, None, "negative-id-accepted", None]
    got = tree.run(refused, path=tree.model("tiny-llama"), cases=[ids for ids, _, _ in cases])
    for row, (_, kind, what), mistake in zip(got, cases, mistakes, strict=True):
        expect.raised(row, kind, what=what, mistake=None if row else mistake)
