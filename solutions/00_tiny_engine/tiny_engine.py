"""A whole LLM engine in one file: Llama and Qwen3, one request at a time, float32, greedy.

Read it from top to bottom: it follows the data, from the files on disk to the tokens that come out.
Letters in the shapes: T new tokens, S tokens in the cache (the new ones included), H hidden size,
N query heads, K key/value heads (N is a multiple of K), D size of one head, V vocabulary.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


@dataclass(frozen=True)
class Config:
    """The numbers of a model's config.json that the forward pass needs."""

    num_layers: int
    num_heads: int  # N
    num_kv_heads: int  # K
    head_dim: int  # D
    norm_eps: float
    rope: dict  # "rope_type", "rope_theta" and, for "llama3", the four numbers of its scaling
    qk_norm: bool  # Qwen3 normalises every query and key head, Llama does not
    tied_head: bool  # the LM head is the embedding matrix, used a second time
    eos_ids: frozenset[int]

    @staticmethod
    def load(folder: str | Path) -> "Config":
        """Read config.json, and generation_config.json where there is one.

        Raises ValueError for another architecture or rope type, and where no rope_theta is given.
        """
        raw = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        architecture = (raw.get("architectures") or ["none"])[0]
        if architecture not in ("LlamaForCausalLM", "Qwen3ForCausalLM"):
            raise ValueError(f"architecture {architecture}: this engine knows LlamaForCausalLM and Qwen3ForCausalLM")
        if raw.get("use_sliding_window") or raw.get("hidden_act", "silu") != "silu":
            raise ValueError("this engine has full attention and the silu activation only; config.json asks for others")

        # Newer files keep all of rope in rope_parameters, older ones use rope_scaling and a rope_theta beside it.
        # A guessed base would give fluent nonsense, so a file without one is refused.
        rope = dict(raw.get("rope_parameters") or raw.get("rope_scaling") or {})
        rope.setdefault("rope_type", rope.get("type", "default"))
        rope.setdefault("rope_theta", raw.get("rope_theta"))
        rope.setdefault("original_max_position_embeddings", raw.get("max_position_embeddings"))
        if rope["rope_theta"] is None:
            raise ValueError("config.json has neither rope_parameters.rope_theta nor rope_theta")
        if rope["rope_type"] not in ("default", "llama3"):
            raise ValueError(f"rope type {rope['rope_type']}: this engine knows default and llama3")

        # The two files may disagree, and each may name one id, several or none: every id that is named counts.
        eos_ids = set()
        generation = Path(folder) / "generation_config.json"
        for source in (raw, json.loads(generation.read_text(encoding="utf-8")) if generation.exists() else {}):
            ids = source.get("eos_token_id")
            eos_ids.update(ids if isinstance(ids, list) else [] if ids is None else [ids])

        heads = raw["num_attention_heads"]
        return Config(
            num_layers=raw["num_hidden_layers"],
            num_heads=heads,
            num_kv_heads=raw.get("num_key_value_heads") or heads,
            head_dim=raw.get("head_dim") or raw["hidden_size"] // heads,
            norm_eps=raw["rms_norm_eps"],
            rope=rope,
            qk_norm=architecture == "Qwen3ForCausalLM",
            tied_head=raw.get("tie_word_embeddings", False),
            eos_ids=frozenset(eos_ids),
        )


def load_weights(folder: str | Path, tied_head: bool) -> dict[str, torch.Tensor]:
    """Read all tensors of a checkpoint, one file or several, as float32 under their Hugging Face names.

    "lm_head.weight" is always there: for a tied head it is the embedding matrix itself, not a copy.
    Raises FileNotFoundError without safetensors files, ValueError if an untied head is missing.
    """
    folder = Path(folder)
    index = folder / "model.safetensors.index.json"
    files = {"model.safetensors"}
    if index.exists():
        files = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    weights = {name: w.float() for file in sorted(files) for name, w in load_file(folder / file).items()}
    if tied_head:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    if "lm_head.weight" not in weights:
        raise ValueError(f"{folder} has no lm_head.weight, and config.json does not tie it to the embedding")
    return weights


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Scale each vector to a root mean square of 1, then each channel by its weight.

    x [..., C] and weight [C] of the same dtype -> [..., C] in that dtype; x itself is not changed.
    Formula (Zhang and Sennrich 2019, arXiv:1910.07467): x / sqrt(mean(x^2) + eps) * weight, with the mean
    over the last dimension. All but the last product is computed in float32, cast back to x's dtype, and only
    then multiplied by the weight: that order is Hugging Face's, and in bfloat16 another order gives other numbers.
    """
    x32 = x.float()
    scale = torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (x32 * scale).to(x.dtype) * weight


def rope_frequencies(head_dim: int, rope: dict) -> torch.Tensor:
    """The angle, in radians per position, by which each pair of channels turns: float32 [D/2].

    "default" (Su et al. 2021, arXiv:2104.09864): pair i turns by theta ** (-2i / D), theta being rope["rope_theta"].
    "llama3" slows the slow pairs down, for contexts longer than the one trained on. With the keys "factor",
    "low_freq_factor", "high_freq_factor" and "original_max_position_embeddings" of rope: a pair makes
    turns = original_max_position_embeddings * frequency / (2 pi) full turns in the original context.
      turns >= high_freq_factor: the frequency stays; turns <= low_freq_factor: it is divided by factor;
      between: keep * frequency + (1 - keep) * frequency / factor, keep rising linearly from 0 to 1 with turns.
    Raises ValueError for any other rope["rope_type"].
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    frequencies = 1.0 / rope["rope_theta"] ** exponents
    if rope["rope_type"] == "default":
        return frequencies
    if rope["rope_type"] == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
        keep = ((turns - low) / (high - low)).clamp(0, 1)
        return keep * frequencies + (1 - keep) * frequencies / rope["factor"]
    raise ValueError(f"rope type {rope['rope_type']}: this engine knows default and llama3")


def apply_rope(x: torch.Tensor, positions: torch.Tensor, frequencies: torch.Tensor) -> torch.Tensor:
    """Turn each pair of channels of each head by its position's angle.

    x [T, heads, D], positions int64 [T], frequencies float32 [D/2] -> [T, heads, D], dtype of x; x is not changed.
    Positions count from the start of the sequence, not of this call. Channel i is paired with channel i + D/2
    (the halves of a head), and the pair (a, b) becomes (a cos - b sin, b cos + a sin) with the angle
    position * frequency. All of it is computed in float32, and only the result is cast to the dtype of x: as a
    bfloat16 number, position 257 would be 256.
    """
    angles = positions.float()[:, None] * frequencies  # [T, D/2]
    cos, sin = angles.cos()[:, None, :], angles.sin()[:, None, :]  # one angle for all heads of a token
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


class KVCache:
    """The keys and values of all tokens that one request has run through the model so far, layer by layer."""

    def __init__(self, num_layers: int):
        self.keys: list[torch.Tensor | None] = [None] * num_layers
        self.values: list[torch.Tensor | None] = [None] * num_layers

    @property
    def length(self) -> int:
        """The number of tokens that every layer holds."""
        return 0 if self.keys[-1] is None else self.keys[-1].shape[0]

    def extend(self, layer: int, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the new tokens' k and v [T, K, D] behind what this layer holds; return all of it, each [S, K, D].

        The oldest token comes first. Other layers are not touched. self.keys[layer] and self.values[layer]
        hold the returned tensors afterwards.
        """
        if self.keys[layer] is not None:
            k = torch.cat((self.keys[layer], k))
            v = torch.cat((self.values[layer], v))
        self.keys[layer], self.values[layer] = k, v
        return k, v


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal grouped-query attention of the T newest tokens over all S tokens of their sequence.

    q [T, N, D], k and v [S, K, D], S >= T, N a multiple of K -> [T, N, D], dtype of q.
    softmax(q k^T / sqrt(D)) v per head (Vaswani et al. 2017, arXiv:1706.03762), the softmax in float32. Query
    heads share key/value heads in runs: the first N/K query heads use head 0, the next N/K head 1, and so on.
    Query t stands at position S - T + t of the sequence and sees the keys at positions up to and with its own.
    """
    T, N, D = q.shape
    S, K, _ = k.shape
    k = k.repeat_interleave(N // K, dim=1)
    v = v.repeat_interleave(N // K, dim=1)
    scores = torch.einsum("tnd,snd->nts", q, k) / math.sqrt(D)
    query_positions = torch.arange(S - T, S, device=q.device)
    hidden = torch.arange(S, device=q.device) > query_positions[:, None]  # [T, S]: True where the key is in the future
    probs = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("nts,snd->tnd", probs, v)


def greedy_loop(
    step: Callable[[list[int]], torch.Tensor], prompt: Sequence[int], max_new_tokens: int, eos_ids: frozenset[int]
) -> Iterator[int]:
    """Yield the most probable next token, feed it back, and so on, until an EOS id or max_new_tokens tokens.

    step(token_ids) runs tokens that the model has not seen yet and returns the logits [V] after the last of them.
    It is called once with the whole prompt (prefill), then with one token at a time (decode): n tokens take exactly
    n calls, because the last token is never fed back. An EOS id is yielded, and nothing after it.
    On equal logits the lowest id wins. Raises ValueError for an empty prompt or max_new_tokens < 1; where the body is
    a generator, that is when the first token is asked for.
    """
    if len(prompt) == 0:
        raise ValueError("the prompt is empty: there is no token to predict from")
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens is {max_new_tokens}, it must be at least 1")
    unseen = list(prompt)
    for _ in range(max_new_tokens):
        token = int(step(unseen).argmax())
        yield token
        if token in eos_ids:
            return
        unseen = [token]


class TinyEngine:
    """One model in memory. Holds no state of a request: that is in the KVCache which the caller hands in."""

    def __init__(self, folder: str | Path):
        self.config = Config.load(folder)
        self.weights = load_weights(folder, self.config.tied_head)
        self.frequencies = rope_frequencies(self.config.head_dim, self.config.rope)

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """x [T, in] times the matrix name + ".weight" [out, in], plus name + ".bias" where there is one -> [T, out]."""
        return F.linear(x, self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """RMSNorm of x [..., C] with the weight name + ".weight" [C]."""
        return rms_norm(x, self.weights[f"{name}.weight"], self.config.norm_eps)

    def mlp(self, x: torch.Tensor, name: str) -> torch.Tensor:
        """SwiGLU, x [T, H] -> [T, H]: down(silu(gate(x)) * up(x)) (Shazeer 2020, arXiv:2002.05202)."""
        gated = F.silu(self.linear(x, f"{name}.gate_proj")) * self.linear(x, f"{name}.up_proj")
        return self.linear(gated, f"{name}.down_proj")

    def layer(self, i: int, x: torch.Tensor, positions: torch.Tensor, cache: KVCache) -> torch.Tensor:
        """Decoder layer i: x float32 [T, H] at positions int64 [T] -> [T, H]; adds T tokens to layer i of the cache.

        Two steps, each of them added to its own input x (the residual stream):
          attention, on the norm "input_layernorm" of x: q, k and v are the projections "self_attn.q_proj", ".k_proj"
            and ".v_proj", seen as heads of size D; with config.qk_norm each head of q goes through the norm
            "self_attn.q_norm" and each head of k through "self_attn.k_norm"; RoPE turns q and k; then come the cache,
            attention, and the projection "self_attn.o_proj" of all heads side by side;
          "mlp", on the norm "post_attention_layernorm" of the new x.
        All these names stand below f"model.layers.{i}.".
        """
        T, D = x.shape[0], self.config.head_dim
        p = f"model.layers.{i}"
        h = self.norm(x, f"{p}.input_layernorm")
        q = self.linear(h, f"{p}.self_attn.q_proj").view(T, self.config.num_heads, D)
        k = self.linear(h, f"{p}.self_attn.k_proj").view(T, self.config.num_kv_heads, D)
        v = self.linear(h, f"{p}.self_attn.v_proj").view(T, self.config.num_kv_heads, D)
        if self.config.qk_norm:
            q = self.norm(q, f"{p}.self_attn.q_norm")
            k = self.norm(k, f"{p}.self_attn.k_norm")
        q = apply_rope(q, positions, self.frequencies)
        k = apply_rope(k, positions, self.frequencies)
        k, v = cache.extend(i, k, v)
        x = x + self.linear(attention(q, k, v).flatten(1), f"{p}.self_attn.o_proj")
        return x + self.mlp(self.norm(x, f"{p}.post_attention_layernorm"), f"{p}.mlp")

    def forward(self, token_ids: Sequence[int], cache: KVCache) -> torch.Tensor:
        """Run T new tokens behind the ones in the cache; return the logits float32 [V] after the last of them.

        The first new token stands at position cache.length. The rows of "model.embed_tokens" for the tokens go
        through all layers, the norm "model.norm", and the projection "lm_head". Only the last row needs these two.
        Raises ValueError if token_ids is empty, IndexError for an id outside [0, V).
        """
        if len(token_ids) == 0:
            raise ValueError("forward needs at least one token")
        positions = torch.arange(cache.length, cache.length + len(token_ids))
        x = F.embedding(torch.tensor(token_ids), self.weights["model.embed_tokens.weight"])
        for i in range(self.config.num_layers):
            x = self.layer(i, x, positions, cache)
        last = self.norm(x[-1:], "model.norm")
        return self.linear(last, "lm_head")[0]

    def generate(self, prompt: Sequence[int], max_new_tokens: int) -> Iterator[int]:
        """Continue the prompt greedily, with a fresh cache; see greedy_loop for where it stops and what it raises."""
        cache = KVCache(self.config.num_layers)
        return greedy_loop(lambda ids: self.forward(ids, cache), prompt, max_new_tokens, self.config.eos_ids)
