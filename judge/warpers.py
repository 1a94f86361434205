"""Sampling filters in numpy: the distribution that a request's token comes from, and what known mistakes make of it.

Follows Hugging Face's warpers (temperature, top-k, top-p, min-p, in this order); judge/tests/test_warpers.py proves that.
"""

from __future__ import annotations

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of `scores` [vocab]; -inf gets 0."""
    shifted = np.exp(scores - scores.max())
    return shifted / shifted.sum()


def is_greedy(params: dict) -> bool:
    return params.get("temperature", 0.0) <= 0 or params.get("top_k", -1) == 1


def warp(logits: np.ndarray, params: dict, mistake: str | None = None, order: np.ndarray | None = None) -> np.ndarray:
    """The distribution [vocab] of the next token, float64.

    Args:
        logits: [vocab].
        params: temperature, top_k, top_p, min_p as in SamplingParams; missing ones have its defaults.
        mistake: a known mistake to make.
        order: for "first-row-order-for-all": the descending order of the first row.
    """
    scores = np.asarray(logits, np.float64)
    vocab = scores.size
    temperature, top_k = params.get("temperature", 0.0), params.get("top_k", -1)
    top_p, min_p = params.get("top_p", 1.0), params.get("min_p", 0.0)
    if is_greedy(params):
        return np.eye(vocab)[int(np.argmax(scores))]
    if mistake != "temperature-ignored":
        scores = scores / temperature
    if mistake == "temperature-multiplied":
        scores = np.asarray(logits, np.float64) * temperature
    k = top_k if 0 < top_k < vocab else vocab
    if mistake == "top-k-keeps-one-more":
        k = min(vocab, k + 1)
    filters = [lambda s: keep_top_k(s, k, mistake, order), lambda s: keep_top_p(s, top_p, mistake, order)]
    if mistake == "top-p-before-top-k":
        filters.reverse()
    for keep in filters:
        scores = keep(scores)
    if min_p > 0:
        scores = keep_min_p(scores, min_p)
    return softmax(scores)


def keep_top_k(scores: np.ndarray, k: int, mistake: str | None = None, order: np.ndarray | None = None) -> np.ndarray:
    """Scores below the k-th largest become -inf; ties with it stay."""
    if k >= scores.size:
        return scores
    if mistake == "first-row-order-for-all" and order is not None:
        return np.where(np.isin(np.arange(scores.size), order[:k]), scores, -np.inf)
    return np.where(scores < np.sort(scores)[-k], -np.inf, scores)


def keep_top_p(
    scores: np.ndarray, top_p: float, mistake: str | None = None, order: np.ndarray | None = None
) -> np.ndarray:
    """The smallest set of most likely tokens with a mass of at least `top_p` stays; at least one."""
    if top_p >= 1.0 and mistake != "top-p-one-is-greedy":
        return scores
    descending = np.argsort(-scores, kind="stable")
    if mistake == "first-row-order-for-all" and order is not None:
        descending = order
    if mistake == "top-p-without-sorting":
        descending = np.arange(scores.size)
    probabilities = softmax(scores)[descending]
    before = np.cumsum(probabilities) - probabilities
    stays = before < top_p
    if mistake == "crossing-token-dropped":
        stays = np.cumsum(probabilities) <= top_p
    if mistake == "top-p-keeps-one-more":
        stays = np.concatenate([[True], stays[:-1]])
    if mistake == "top-p-one-is-greedy" and top_p >= 1.0:
        stays[:] = False
    stays[0] = True
    kept = np.full(scores.shape, -np.inf)
    kept[descending[stays]] = scores[descending[stays]]
    return kept


def keep_min_p(scores: np.ndarray, min_p: float) -> np.ndarray:
    """Tokens less likely than `min_p` times the most likely one become -inf."""
    probabilities = softmax(scores)
    return np.where(probabilities < min_p * probabilities.max(), -np.inf, scores)


def margin(logits: np.ndarray, params: dict) -> float:
    """How far the kept set is from changing: the smallest distance of a cumulative mass from top_p, or of a mass from min_p's bound."""
    if is_greedy(params):
        top = np.sort(np.asarray(logits, np.float64))[-2:]
        return float(top[1] - top[0])
    vocab = len(logits)
    k = params.get("top_k", -1)
    scores = keep_top_k(np.asarray(logits, np.float64) / params["temperature"], k if 0 < k < vocab else vocab)
    mass = softmax(scores)
    gaps = [1.0]
    if params.get("top_p", 1.0) < 1.0:
        gaps.append(np.abs(np.cumsum(np.sort(mass)[::-1]) - params["top_p"]).min())
    if params.get("min_p", 0.0) > 0:
        gaps.append(np.abs(mass[mass > 0] - params["min_p"] * mass.max()).min())
    return float(min(gaps))
