"""Batched sampling: one forward pass, one token per request, each request with its own parameters.

The order of the filters is the order of Hugging Face's `generate`: temperature, top-k, top-p, min-p. Each filter works
on what the one before has left, renormalised. A token is then drawn with one uniform number per row by inverting the
cumulative distribution. That number depends on the request's seed and its step alone, so neighbours never matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from minisgl.core import Batch, SamplingParams

MIN_TEMPERATURE = 1e-10  # smaller ones would overflow float32; at this one the draw is the argmax already
SHORTLIST = 1024  # top-p looks at this many tokens before it sorts the whole vocabulary
NOT_FINITE = -1  # the token of a row whose logits cannot be sampled
_MASK64 = (1 << 64) - 1


@dataclass
class BatchSamplingArgs:
    """The sampling parameters of a batch, one row per request of `batch.reqs`, on the sampler's device.

    A field is None where no request of the batch needs it; with all of them None the batch is greedy.
    A row that does not use a filter carries its neutral value: top_k = vocab_size, top_p = 1, min_p = 0.
    A greedy row carries temperature 0 and neutral filters.
    """

    temperatures: torch.Tensor | None = None  # float32 [batch]
    top_ks: torch.Tensor | None = None  # int64   [batch]
    top_ps: torch.Tensor | None = None  # float64 [batch]: keeps 1 - top_p as exact as the user's number
    min_ps: torch.Tensor | None = None  # float32 [batch]
    uniforms: torch.Tensor | None = None  # float32 [batch], in [0, 1)


def mix64(value: int) -> int:
    """Scramble a 64-bit integer: every input bit moves about half of the output bits, and no two inputs collide.

    This is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
    OOPSLA 2014), with the increment added first so that 0 does not map to 0. Takes any integer modulo 2^64.
    """
    value = (value + 0x9E3779B97F4A7C15) & _MASK64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK64
    return value ^ (value >> 31)


def request_seed(params: SamplingParams, uid: int, base_seed: int) -> int:
    """The seed of one request: `params.seed` if the user gave one (0 counts), else one made of `base_seed` and `uid`.

    A user's seed comes back as it is. Without one, two requests get different seeds in [0, 2^64), and every rank with
    the same `base_seed` gets the same.
    """
    raise NotImplementedError("TODO 195: Per-request seeds: neighbours never matter")


def uniform(seed: int, step: int) -> float:
    """The uniform random number in [0, 1) that belongs to step `step` of a request with seed `seed`.

    A pure function: no generator holds a state, so nothing else that is drawn can shift it. `mix64` scrambles the seed,
    then the seed plus the step. The upper 24 bits are kept: float32 holds every multiple of 2^-24 exactly, so the
    number never rounds up to 1.0. Seeds are any integers (taken modulo 2^64); steps are >= 0.
    """
    raise NotImplementedError("TODO 195: Per-request seeds: neighbours never matter")


def greedy_tokens(logits: torch.Tensor) -> torch.Tensor:
    """The argmax of each row of `logits` [batch, vocab], as int32 [batch]; the lowest index where several are largest.

    A row whose largest logit is not finite (a NaN or +inf somewhere in it, or nothing but -inf) gets NOT_FINITE.
    """
    best, tokens = logits.max(dim=-1)  # a NaN wins the max, so one pass answers both questions
    return tokens.masked_fill(~best.isfinite(), NOT_FINITE).to(torch.int32)


def filter_top_k(scores: torch.Tensor, top_ks: torch.Tensor) -> torch.Tensor:
    """Set to -inf every score below the k-th largest of its row. Ties with the k-th stay, as in HF's TopKLogitsWarper.

    `scores` float32 [rows, vocab], `top_ks` int64 [rows] with 1 <= k <= vocab. Returns a new tensor of scores' shape.
    """
    largest = scores.topk(int(top_ks.max()), dim=-1).values
    kth = largest.gather(-1, top_ks[:, None] - 1)
    return scores.masked_fill(scores < kth, float("-inf"))


def filter_top_p(scores: torch.Tensor, top_ps: torch.Tensor) -> torch.Tensor:
    """Keep, in each row, the smallest set of most likely tokens with a mass of at least top_p; the rest becomes -inf.

    The rule is that of HF's TopPLogitsWarper: sort ascending, drop every token up to which the mass sums to at most
    1 - top_p, never drop the last one. So the token that crosses top_p stays, and so does one token at top_p = 0.
    The mass is that of softmax(scores), hence of what an earlier filter has left, renormalised.
    `scores` float32 [rows, vocab], `top_ps` [rows] in [0, 1]. Returns a new tensor of scores' shape.

    Sorting the vocabulary of a whole batch costs more than a decode step of a small model. So where the vocabulary is
    large, the SHORTLIST most likely tokens are tried first, and a row is sorted as a whole only if they do not hold its
    set. Then the set can differ from HF's where a mass equals 1 - top_p to within 1e-6, or in which of several tied
    tokens at its edge stay.
    """
    kept = torch.full_like(scores, float("-inf"))
    vocab_size = scores.shape[-1]
    for row, out, top_p in zip(scores, kept, top_ps.tolist(), strict=True):
        limit = 1.0 - top_p
        tokens, below = torch.arange(vocab_size, device=row.device), 0.0  # below: the mass that is not on the list
        if vocab_size > SHORTLIST:
            tokens = (row > float("-inf")).nonzero().flatten()
        if tokens.numel() > SHORTLIST:
            values, shortlist = row.topk(SHORTLIST)
            rest = 1.0 - float((values.logsumexp(-1) - row.logsumexp(-1)).exp())
            if rest < limit - 1e-5:
                tokens, below = shortlist, max(0.0, rest)
        ascending, order = row[tokens].sort()
        mass = below + (1.0 - below) * ascending.softmax(-1).cumsum(-1)
        stays = mass > limit
        stays[-1] = True
        tokens = tokens[order[stays]]
        out[tokens] = row[tokens]
    return kept


def filter_min_p(scores: torch.Tensor, min_ps: torch.Tensor) -> torch.Tensor:
    """Set to -inf every token whose probability is below min_p times that of its row's most likely token.

    Probabilities are softmax(scores). A token at exactly the bound stays, and the most likely one always does
    (HF's MinPLogitsWarper). `scores` float32 [rows, vocab], `min_ps` float32 [rows] in [0, 1]; 0 removes nothing.
    Returns a new tensor of scores' shape.
    """
    raise NotImplementedError("TODO 196: min_p: a bound that follows the best token")


def invert_cdf(probs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Draw one token per row: the first one at which the running sum of `probs` exceeds the uniform number.

    `probs` float32 [rows, vocab], need not sum to one; `uniforms` float32 [rows] in [0, 1). Returns int64 [rows].
    A token of probability 0 is never drawn, whatever the rounding of the sum.
    """
    cdf = probs.cumsum(dim=-1)
    total = cdf[:, -1:].contiguous()
    # Strictly below the total: the running sum then exceeds it at some token, and first does so where probs > 0.
    target = torch.minimum(uniforms[:, None] * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cdf, target, right=True).squeeze(-1)


def sample_torch(
    logits: torch.Tensor,
    temperatures: torch.Tensor,
    top_ks: torch.Tensor | None = None,
    top_ps: torch.Tensor | None = None,
    min_ps: torch.Tensor | None = None,
    uniforms: torch.Tensor | None = None,
) -> torch.Tensor:
    """Sample one token per row of `logits` [batch, vocab] (any float type; computed in float32). Returns int32 [batch].

    temperatures [batch]: a row with temperature <= 0, or with top_k == 1, is greedy: its argmax, the lowest index on
        ties, whatever its other parameters say. Other rows divide their logits by it, or by MIN_TEMPERATURE if that
        is larger: a quotient must not overflow float32, so a tiny temperature (1e-38) gives the argmax, never NaN.
    top_ks [batch] or None: off in a row where k <= 0 or k >= vocab.
    top_ps [batch] or None: off in a row where p >= 1.   min_ps [batch] or None: off in a row where it is 0.
    uniforms [batch]: one number in [0, 1) per row (that of a greedy row is not read; None will do if all are greedy).

    The filters follow each other in this order: temperature, top-k, top-p, min-p. A row is computed from its own
    numbers alone. A row whose largest logit is not finite gets NOT_FINITE (-1); the others do not notice. Only the
    largest counts: a row with some logits at -inf (masked tokens) is drawn as ever, and never gets one of them.
    A token that a filter removed is never drawn, whatever the rounding of the sums. No argument is changed.
    The kept sets can differ from HF's in two places: top_k == 1 with tied largest logits (HF keeps the ties), and
    what `filter_top_p` says.
    """
    raise NotImplementedError("TODO 190: Batched sampling: one set of parameters per request")


def sample_flashinfer(logits: torch.Tensor, args: BatchSamplingArgs) -> torch.Tensor:
    """`sample_torch` for CUDA with FlashInfer's kernels for top-k and top-p, which need no sort. Returns int32 [batch].

    FlashInfer's own draws take one seed for a whole batch, so a row's token would depend on its neighbours.
    Its filters are used, and the draw stays ours: one uniform number per row. No step waits for the device.
    """
    from flashinfer.sampling import top_k_renorm_probs, top_p_renorm_probs

    assert args.temperatures is not None and args.uniforms is not None
    greedy = greedy_tokens(logits)
    safe = logits.float().masked_fill((greedy == NOT_FINITE)[:, None], 0.0)
    probs = (safe / args.temperatures[:, None].clamp_min(MIN_TEMPERATURE)).softmax(dim=-1)
    if args.top_ks is not None:
        on = (args.top_ks < probs.shape[-1])[:, None]
        probs = torch.where(on, top_k_renorm_probs(probs, args.top_ks.to(torch.int32)), probs)
    if args.top_ps is not None:
        on = (args.top_ps < 1)[:, None]
        probs = torch.where(on, top_p_renorm_probs(probs, args.top_ps.float().clamp_min(1e-6)), probs)
    if args.min_ps is not None:
        bound = args.min_ps[:, None] * probs.amax(dim=-1, keepdim=True)
        probs = probs.masked_fill(probs < bound, 0.0)
    drawn = invert_cdf(probs, args.uniforms).to(torch.int32)
    random = (args.temperatures > 0) & (greedy != NOT_FINITE)
    return torch.where(random, drawn, greedy)


def has_flashinfer() -> bool:
    """Whether FlashInfer's sampling kernels can be imported. Ask on CUDA only: the import itself is slow."""
    try:
        import flashinfer.sampling  # noqa: F401
    except (ImportError, OSError, RuntimeError):
        return False
    return True


class Sampler:
    """Turns the sampling parameters of a batch into tensors (`prepare`) and logits into tokens (`sample`)."""

    def __init__(self, device: torch.device, vocab_size: int, seed: int = 42) -> None:
        """`seed` is the base of the seeds of requests that bring none; every rank of a service must use the same."""
        self.device = torch.device(device)
        self.vocab_size = vocab_size
        self.seed = seed
        self.use_flashinfer = self.device.type == "cuda" and has_flashinfer()

    def prepare(self, batch: Batch) -> BatchSamplingArgs:
        """Collect the sampling parameters of `batch.reqs`, in that order (padding requests are left out).

        If every request is greedy, returns BatchSamplingArgs() with no tensors at all. Otherwise temperatures and
        uniforms are set, and each of top_ks, top_ps, min_ps only if a request that is not greedy uses that filter.
        Off is: top_k <= 0 or >= vocab_size, top_p >= 1, min_p <= 0. BatchSamplingArgs has dtypes and neutral values.
        The uniform number of a request is `uniform(its request_seed, its step)`. The step is `req.device_len`, the
        number of tokens the request has: the same in every batch, in every order and for every split of the prompt.
        (The host may not know the last of these tokens yet: while a step is in flight, `input_ids` is one shorter.)
        """
        raise NotImplementedError("TODO 190: Batched sampling: one set of parameters per request")

    def sample(self, logits: torch.Tensor, args: BatchSamplingArgs) -> torch.Tensor:
        """Draw one token per row of `logits` [batch, vocab]; returns int32 [batch] on the logits' device.

        `args` comes from `prepare` for the same requests in the same order. All greedy: one argmax, nothing else.
        Otherwise `sample_flashinfer(logits, args)` if `self.use_flashinfer` is set and the logits are on CUDA, else
        `sample_torch`. A row whose largest logit is not finite gets NOT_FINITE (-1): the request fails, its neighbours
        do not.
        """
        raise NotImplementedError("TODO 190: Batched sampling: one set of parameters per request")

    def _tensor(self, values: list[float], dtype: torch.dtype) -> torch.Tensor:
        # From pinned memory the copy to a GPU does not stop the host.
        host = torch.tensor(values, dtype=dtype, pin_memory=self.device.type == "cuda")
        return host.to(self.device, non_blocking=True)
