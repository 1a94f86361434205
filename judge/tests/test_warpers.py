"""judge/warpers.py gives the distributions of Hugging Face's own warpers; its known mistakes give others."""

from __future__ import annotations

import numpy as np
import pytest

from judge import questions, warpers

CASES = 1000
MISTAKES = (
    "temperature-ignored",
    "temperature-multiplied",
    "top-p-before-top-k",
    "crossing-token-dropped",
    "top-p-keeps-one-more",
    "top-k-keeps-one-more",
    "first-row-order-for-all",
    "top-p-without-sorting",
    "top-p-one-is-greedy",
)


def random_params(rng: np.random.Generator, vocab: int) -> dict:
    """Parameters in which each filter is on in about every second case, with odd values among them."""
    params = {"temperature": float(rng.choice([0.0, 0.05, 0.5, 0.7, 1.0, 1.3, 2.0, 5.0], p=[0.04] + [0.96 / 7] * 7))}
    if rng.random() < 0.5:
        params["top_k"] = int(rng.choice([-1, 0, 1, 2, 3, 5, vocab - 1, vocab, vocab + 7]))
    if rng.random() < 0.5:
        params["top_p"] = float(rng.choice([0.0, 1e-9, 0.1, 0.5, 0.9, 0.999, 1.0, rng.random()]))
    if rng.random() < 0.5:
        params["min_p"] = float(rng.choice([0.0, 0.01, 0.2, 0.9, 1.0, rng.random()]))
    return params


def random_cases(seed: int, count: int, vocab: int, edge: float = 1e-6) -> tuple[np.ndarray, list[dict]]:
    """Logits [count, vocab] and their parameters, none of them with a kept set that hangs on rounding."""
    rng = np.random.default_rng(seed)
    rows, params = [], []
    while len(rows) < count:
        row, chosen = rng.normal(0, rng.choice([0.2, 1.0, 3.0]), vocab).astype(np.float32), random_params(rng, vocab)
        at_one = chosen.get("min_p") == 1.0  # the best token lies at this bound always, and stays
        if warpers.margin(row, chosen | ({"min_p": 0.0} if at_one else {})) > edge:
            rows.append(row)
            params.append(chosen)
    return np.stack(rows), params


@pytest.mark.parametrize("vocab", [3, 12, 50])
def test_a_thousand_rows_equal_hugging_face(vocab):
    logits, params = random_cases(vocab, CASES, vocab)
    import torch

    theirs = questions.warped(torch.from_numpy(logits), params).numpy()
    ours = np.stack([warpers.warp(row, p) for row, p in zip(logits, params, strict=True)])
    assert ((theirs > 0) == (ours > 0)).all(), "the kept sets differ"
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    sizes = (ours > 0).sum(1)
    assert len(set(sizes.tolist())) > 2 or vocab == 3
    assert sum("min_p" in p and "top_p" in p and "top_k" in p for p in params) > 50


def test_large_vocabulary_equals_hugging_face():
    import torch

    logits, params = random_cases(1, 20, 4000, edge=1e-9)
    theirs = questions.warped(torch.from_numpy(logits), params).numpy()
    ours = np.stack([warpers.warp(row, p) for row, p in zip(logits, params, strict=True)])
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_ties_with_the_kth_token_stay_as_in_hugging_face():
    import torch

    logits = np.array([[2.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]], np.float32)
    params = [{"temperature": 1.0, "top_k": 2}, {"temperature": 0.5, "top_k": 3}]
    theirs = questions.warped(torch.from_numpy(logits), params).numpy()
    ours = np.stack([warpers.warp(row, p) for row, p in zip(logits, params, strict=True)])
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert (ours > 0).sum(1).tolist() == [4, 5]


@pytest.mark.parametrize(
    "params", [{}, {"temperature": 0.0, "top_p": 0.1}, {"temperature": 2.0, "top_k": 1}, {"top_k": 5, "min_p": 0.5}]
)
def test_greedy_takes_the_lowest_index_on_ties(params):
    assert warpers.is_greedy(params)
    assert warpers.warp(np.array([0.0, 3.0, 3.0, 1.0]), params).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("probabilities", "params", "kept"),
    [
        ([0.1, 0.2, 0.3, 0.4], {"top_p": 0.65}, {2, 3}),
        ([0.1, 0.2, 0.3, 0.4], {"top_p": 0.75}, {1, 2, 3}),
        ([0.9, 0.05, 0.05], {"top_p": 0.5}, {0}),
        ([0.6, 0.3, 0.1], {"min_p": 0.4}, {0, 1}),
        ([0.4, 0.3, 0.2, 0.1], {"top_k": 2, "top_p": 0.5}, {0}),  # 0.4 of 0.7 is 0.57
        ([0.4, 0.3, 0.2, 0.1], {"top_p": 0.0}, {0}),
        ([0.4, 0.3, 0.2, 0.1], {"top_p": 1.0, "top_k": 99, "min_p": 0.0}, {0, 1, 2, 3}),
        ([0.4, 0.3, 0.2, 0.1], {"top_k": 0}, {0, 1, 2, 3}),
    ],
)
def test_by_hand(probabilities, params, kept):
    got = warpers.warp(np.log(probabilities), {"temperature": 1.0} | params)
    assert set(np.nonzero(got)[0].tolist()) == kept
    rest = np.where(np.isin(np.arange(len(probabilities)), list(kept)), probabilities, 0)
    np.testing.assert_allclose(got, rest / rest.sum(), atol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_a_distribution_and_another_one(mistake):
    logits, params = random_cases(5, 400, 12, edge=1e-3)
    order = np.argsort(-logits[0])
    right = np.stack([warpers.warp(row, p) for row, p in zip(logits, params, strict=True)])
    wrong = np.stack([warpers.warp(row, p, mistake, order) for row, p in zip(logits, params, strict=True)])
    left = ~np.isnan(wrong).any(axis=1)  # top-p without sorting may keep only a token that top-k has removed
    assert left.all() or mistake == "top-p-without-sorting"
    np.testing.assert_allclose(wrong[left].sum(1), 1, atol=1e-12)
    assert (wrong[left] >= 0).all()
    assert (np.abs(wrong - right)[left].max(1) > 0.05).sum() >= 5


def test_known_mistakes_by_hand():
    def kept(params, mistake, probabilities=(0.4, 0.3, 0.2, 0.1), order=None):
        got = warpers.warp(np.log(probabilities), {"temperature": 1.0} | params, mistake, order)
        return set(np.nonzero(got)[0].tolist())

    assert kept({"top_p": 0.6}, "crossing-token-dropped") == {0}
    assert kept({"top_p": 0.3}, "crossing-token-dropped") == {0}
    assert kept({"top_p": 0.6}, "top-p-keeps-one-more") == {0, 1, 2}
    assert kept({"top_k": 2}, "top-k-keeps-one-more") == {0, 1, 2}
    assert kept({"top_k": 2, "top_p": 0.5}, "top-p-before-top-k") == {0, 1}
    assert kept({"top_p": 0.35}, "top-p-without-sorting", (0.1, 0.2, 0.3, 0.4)) == {0, 1, 2}
    assert kept({"top_p": 1.0}, "top-p-one-is-greedy") == {0}
    assert kept({"top_k": 2}, "first-row-order-for-all", order=np.array([3, 2, 1, 0])) == {2, 3}


def test_margin_is_the_distance_to_the_edge():
    logits = np.log([0.4, 0.3, 0.2, 0.1])
    assert warpers.margin(logits, {"temperature": 1.0, "top_p": 0.72}) == pytest.approx(0.02)
    assert warpers.margin(logits, {"temperature": 1.0, "min_p": 0.5}) == pytest.approx(0.0, abs=1e-12)
    assert warpers.margin(logits, {"temperature": 0.0}) == pytest.approx(np.log(0.4 / 0.3))
    assert warpers.margin(logits, {"temperature": 1.0}) == 1.0
