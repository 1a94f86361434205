"""Every comparison: what is right passes, the rest is a Mismatch of the right kind, and only mistakes that fit are named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judge import expect
from judge.expect import Mismatch
from judge.sandbox import Evidence
from judge.wire import Foreign


def evidence(values, dtype=np.float32, torch_dtype="") -> Evidence:
    """What a probe's tensor looks like in the judge."""
    array = np.array(values, dtype).view(Evidence)
    array.torch_dtype = torch_dtype or str(array.dtype)
    return array


def refused(function, *args, **kwargs) -> Mismatch:
    with pytest.raises(Mismatch) as caught:
        function(*args, **kwargs)
    assert caught.value.headline and all(isinstance(line, str) for line in caught.value.lines)
    return caught.value


X = np.arange(6, dtype=np.float32).reshape(2, 3)
NOT_TENSORS = [None, Foreign("Batch"), "text", {"a": 1}]


# ---- that --------------------------------------------------------------------------------------------------------


def test_that():
    expect.that(True, "fine")
    expect.that(np.True_, "fine")
    assert refused(expect.that, False, "no").kind == "mismatch"
    assert refused(expect.that, 0, "no", kind="type").kind == "type"
    error = refused(expect.that, None, "no", ["line"], mistake="known")
    assert (error.kind, error.mistake, error.lines, error.headline) == ("mistake", "known", ["line"], "no")


# ---- is_tensor ---------------------------------------------------------------------------------------------------


def test_is_tensor_accepts():
    assert expect.is_tensor(evidence(X), shape=(2, 3), dtype="float32") is not None
    expect.is_tensor(evidence(X, torch_dtype="bfloat16"), dtype=("float32", "bfloat16"))
    expect.is_tensor(np.zeros((0, 4)), shape=(0, 4))
    expect.is_tensor(evidence(3.0), shape=())


@pytest.mark.parametrize("got", [*NOT_TENSORS, [1.0, 2.0], 3, 2.5, True, float("nan")])
def test_is_tensor_refuses_what_is_no_tensor(got):
    error = refused(expect.is_tensor, got, "the rows")
    assert error.kind == "type" and error.headline.startswith("the rows: ")
    assert bool(error.lines) == (got is None)


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), (1, 2, 3), ()])
def test_is_tensor_refuses_shapes(shape):
    assert refused(expect.is_tensor, evidence(X), shape=shape).kind == "shape"


def test_is_tensor_refuses_dtypes():
    assert refused(expect.is_tensor, evidence(X), dtype="int32").kind == "dtype"
    error = refused(expect.is_tensor, evidence(X, torch_dtype="bfloat16"), dtype="float32")
    assert error.kind == "dtype" and "bfloat16" in error.headline and "float32" in error.headline
    assert refused(expect.is_tensor, evidence([1], np.int64), dtype=("int32", "int16")).kind == "dtype"


# ---- equal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "want"),
    [(3, 3), ("a", "a"), ([1, [2, 3]], [1, [2, 3]]), ({"a": 1}, {"a": 1}), (None, None), (True, True), ([], [])],
)
def test_equal_accepts(got, want):
    expect.equal(got, want)


def test_equal_accepts_tensors_of_another_dtype():
    expect.equal(evidence([1, 2], np.int64), np.array([1, 2], np.int32))
    expect.equal(evidence([True, False], bool), np.array([True, False]))
    expect.equal(evidence([1, 2], np.int64), [1, 2])


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (3, 4), (None, 3), ("3", 3), ([1, 2], [1, 2, 3]), ([1, 2, 3], [1, 2]), ([1, 3], [1, 2]), ({"a": 1}, {"a": 2}),
        (1, True), (True, 1), (0, False), (None, []), (Foreign("Req"), 3), (Foreign("Req"), []), (math.nan, 1.0), ([[1], 2], [[1], [2]]),
        ([], None), (math.nan, math.nan),
    ],
)  # fmt: skip
def test_equal_refuses(got, want):
    refused(expect.equal, got, want)


@pytest.mark.parametrize(
    "got",
    [
        evidence([1, 2, 4], np.int32),
        evidence([[1, 2, 3]], np.int32),
        evidence([1], np.int32),
        evidence(1, np.int32),
        *NOT_TENSORS,
        [[1], [2, 3]],
        [1, 2],
    ],
)
def test_equal_refuses_other_tensors(got):
    refused(expect.equal, got, np.array([1, 2, 3]))


def test_equal_says_where_lists_differ():
    assert "index 1: want 5, got 6" in refused(expect.equal, [1, 6, 3], [1, 5, 3]).lines[0]
    assert "want 2 entries" in refused(expect.equal, [1], [1, 5]).lines[0]
    assert all(len(line) < 160 for line in refused(expect.equal, list(range(5000)), list(range(1, 5001))).lines)


def test_equal_large_integers_are_compared_exactly():
    big = 2**60
    refused(expect.equal, evidence([big + 1], np.int64), np.array([big]))
    expect.equal(evidence([big], np.int64), np.array([big]))


# ---- close -------------------------------------------------------------------------------------------------------


def test_close_accepts():
    expect.close(evidence(X), X)
    expect.close(evidence(X + 5e-5), X)
    expect.close(evidence(X * 1.001), X, atol=0, rtol=2e-3)
    expect.close([[0, 1, 2], [3, 4, 5]], X)
    expect.close(2.0, 2.0)
    expect.close(evidence([np.inf, -np.inf, 1.0]), np.array([np.inf, -np.inf, 1.0]))
    expect.close(np.zeros((0, 3)), np.zeros((0, 3)))
    expect.close(evidence(X, torch_dtype="bfloat16"), X, dtype="bfloat16")


@pytest.mark.parametrize(
    "got", [*NOT_TENSORS, [[1.0], [2.0, 3.0]], ["a", "b"], [None, 1.0], [[0, 1, 2], [3, 4, None]], []]
)
def test_close_refuses_what_is_no_array(got):
    refused(expect.close, got, X)


@pytest.mark.parametrize(
    "got", [X[None], X[:1], X[:, :1], X.T, X.ravel(), np.float32(1.0), X[:, :, None], np.zeros((0, 3), np.float32)]
)
def test_close_refuses_shapes_even_if_they_broadcast(got):
    assert refused(expect.close, np.asarray(got), X * 0 if np.size(got) == 1 else X).kind == "shape"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_close_refuses_values_that_are_not_finite(bad):
    got = X.copy()
    got[1, 1] = bad
    error = refused(expect.close, evidence(got), X, atol=1e30, rtol=1e30)
    assert "1 NaN or infinite" in error.headline


def test_close_nan_equals_nothing_and_infinities_need_their_sign():
    refused(expect.close, evidence([np.nan]), np.array([np.nan]), atol=1e9)
    refused(expect.close, evidence([np.inf]), np.array([-np.inf]), atol=np.inf)
    refused(expect.close, evidence([1e30]), np.array([np.inf]), atol=1e38)
    refused(expect.close, evidence([np.nan]), np.array([np.inf]))


def test_close_refuses_beyond_the_tolerance():
    error = refused(
        expect.close,
        evidence(X + np.array([[0, 0, 0], [0, 0.01, 0]], np.float32)),
        X,
        axes=("row", "column"),
        name="the rows",
    )
    assert error.kind == "mismatch" and "1 of 6" in error.headline
    assert "row 1, column 1: want 4, got 4.01" in error.lines[-1] and "0.01" in error.lines[0]
    refused(expect.close, evidence(X + 2e-4), X)
    refused(expect.close, evidence(X), X + 1, atol=0.5)


def test_close_checks_the_dtype_of_right_values():
    assert refused(expect.close, evidence(X, np.float64), X, dtype="float32").kind == "dtype"
    assert refused(expect.close, evidence(X, torch_dtype="bfloat16"), X, dtype=("float32", "float16")).kind == "dtype"


def test_close_lists_a_few_places_only():
    assert len(refused(expect.close, np.zeros((50, 50)), np.ones((50, 50))).lines) <= expect.SHOWN + 1


def test_close_of_a_single_number():
    error = refused(expect.close, 2.0, 3.0, name="the scale")
    assert error.headline == "the scale: wrong" and "want 3, got 2" in error.lines[-1]


# ---- suspects ----------------------------------------------------------------------------------------------------


def test_a_suspect_is_named_when_it_explains_everything():
    got, other = evidence(X * 2), {"first": X + 1, "doubled": X * 2}
    error = refused(expect.close, got, X, suspects=other)
    assert (error.kind, error.mistake) == ("mistake", "doubled")
    assert refused(expect.equal, [2, 4], [1, 2], suspects={"doubled": [2, 4]}).mistake == "doubled"
    assert refused(expect.same_tokens, [[2]], [[1]], suspects={"two": [[2]]}).mistake == "two"


def test_a_suspect_that_explains_a_part_is_not_named():
    got = X * 2
    got[0, 1] += 0.5
    error = refused(expect.close, evidence(got), X, suspects={"doubled": X * 2, "nothing": None, "no": False})
    assert (error.kind, error.mistake) == ("mismatch", None)
    assert refused(expect.equal, [2, 5], [1, 2], suspects={"doubled": [2, 4]}).mistake is None


def test_a_suspect_of_another_shape_does_not_broadcast():
    got = np.full((2, 3), 7.0)
    assert refused(expect.close, got, X, suspects={"seven": np.array(7.0), "row": np.full(3, 7.0)}).mistake is None
    assert refused(expect.close, X[:1], X, suspects={"first row only": X[:1]}).mistake == "first row only"


def test_suspects_do_not_matter_for_what_is_right():
    expect.close(evidence(X), X, suspects={"same": X, "true": True, "function": lambda got: True})
    expect.equal(3, 3, suspects={"true": True})


def test_a_suspect_may_be_a_bool_or_a_function():
    assert refused(expect.close, X + 1, X, suspects={"no": False, "yes": np.True_}).mistake == "yes"
    assert refused(expect.close, X + 1, X, suspects={"ends in 6": lambda got: got[-1, -1] == 6}).mistake == "ends in 6"
    assert (
        refused(expect.close, X + 1, X, suspects={"fails": lambda got: got["key"], "out": lambda got: got[99]}).mistake
        is None
    )


def test_the_first_suspect_that_fits_is_named():
    assert refused(expect.close, X + 1, X, suspects={"a": X + 1, "b": X + 1}).mistake == "a"


def test_a_suspect_with_nan_is_never_named():
    got = np.full((2, 3), np.nan)
    assert refused(expect.close, got, X, suspects={"nan": got}).mistake is None


# ---- same_distribution -------------------------------------------------------------------------------------------

P = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4]])


def draws(probabilities: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.choice(len(p), size=n, p=p) for p in np.atleast_2d(probabilities)])


def test_right_draws_pass():
    for n in (1, 5, 100, 4000):
        expect.same_distribution(draws(P, n, n), P)
    expect.same_distribution(draws(P[0], 500)[0], P[0])
    expect.same_distribution(np.zeros(100, int), np.array([1.0, 0.0]))


@pytest.mark.parametrize("kind", [np.float32, np.float64, bool])
def test_draws_are_integers(kind):
    assert refused(expect.same_distribution, draws(P, 100).astype(kind), P).kind == "dtype"


@pytest.mark.parametrize("got", [*NOT_TENSORS, [0, 1, 2], 3])
def test_draws_are_a_tensor(got):
    assert refused(expect.same_distribution, got, P).kind == "type"


@pytest.mark.parametrize("got", [draws(P, 100).T, draws(P, 100)[:1], draws(P, 100)[0], draws(P, 100)[None]])
def test_draws_have_a_row_for_each_distribution(got):
    assert refused(expect.same_distribution, got, P).kind == "shape"


@pytest.mark.parametrize("token", [-1, 4, 2**40])
def test_a_token_outside_the_vocabulary_is_refused(token):
    got = draws(P, 100)
    got[1, 50] = token
    assert "outside the vocabulary" in refused(expect.same_distribution, got, P).headline


def test_one_token_outside_the_support_is_refused():
    got = draws(P, 4000)
    got[0, 7] = 3
    error = refused(expect.same_distribution, got, P, rows=("first", "second"))
    assert "1 that must never come" in error.headline and "first" in error.lines[0]
    assert any("never" in line for line in error.lines)


def test_no_draws_at_all_are_refused():
    refused(expect.same_distribution, np.zeros((2, 0), int), P)


def test_the_distributions_are_told_apart_by_row():
    refused(
        expect.same_distribution, draws(P[::-1], 4000), np.clip(P, 0.01, 1) / np.clip(P, 0.01, 1).sum(1, keepdims=True)
    )


def test_a_suspect_must_explain_all_rows():
    wrong = np.array([[0.2, 0.3, 0.5, 0.0], [0.4, 0.3, 0.2, 0.1]])
    got = draws(wrong, 2000)
    half = np.stack([wrong[0], P[1]])
    assert refused(expect.same_distribution, got, P, suspects={"half": half, "all": wrong}).mistake == "all"
    assert refused(expect.same_distribution, got, P, suspects={"half": half}).mistake is None
    assert refused(expect.same_distribution, got, P, suspects={"f": lambda tokens: len(tokens) == 2}).mistake == "f"


@pytest.mark.parametrize("p", [np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.97, 0.02, 0.01, 0.0]), np.full(4, 0.25)])
@pytest.mark.parametrize("n", [40, 400])
def test_right_draws_fail_at_most_as_often_as_promised(p, n):
    """20,000 right runs with the promise loosened to 1e-2: no more failures than promised."""
    error, trials = 1e-2, 20_000
    rng = np.random.default_rng(n)
    counts = rng.multinomial(n, p, size=trials)
    failures = sum(bool(expect._unlikely(row, p, error).any()) for row in counts)
    assert failures <= error * trials


def test_the_promise_holds_over_several_rows():
    """The same through the public function, with two rows that share the promise."""
    error, trials, n = 1e-2, 4000, 60
    rng = np.random.default_rng(1)
    first, second = rng.choice(4, size=(trials, n), p=P[0]), rng.choice(4, size=(trials, n), p=P[1])
    failures = 0
    for pair in zip(first, second, strict=True):
        try:
            expect.same_distribution(np.stack(pair), P, error=error)
        except Mismatch:
            failures += 1
    assert failures <= error * trials


def test_stratified_draws_keep_the_promise():
    """One number from each of n strata, through an inverse cumulative sum: the frequencies lie within 2/n of p."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        p = rng.dirichlet(np.ones(6))
        numbers = (np.arange(100) + rng.random(100)) / 100
        expect.same_distribution(np.searchsorted(np.cumsum(p)[:-1], numbers, side="right"), p)


def binomial(n: int, p: float) -> np.ndarray:
    """Probabilities of 0..n successes."""
    k = np.arange(n + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    choose = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
    return np.exp(choose + k * math.log(p) + (n - k) * math.log(1 - p))


def power(p: float, shifted: float, n: int) -> float:
    """The probability that n draws with `shifted` for a token are refused where `p` is right, with the default promise."""
    refusals = [expect._unlikely(np.array([k, n - k]), np.array([p, 1 - p]), 1e-8).any() for k in range(n + 1)]
    return float(binomial(n, shifted)[np.array(refusals)].sum())


@pytest.mark.parametrize(
    ("p", "at_least"), [(0.02, 0.999), (0.05, 0.999), (0.1, 0.99), (0.2, 0.85), (0.5, 0.5), (0.9, 0.999)]
)
def test_a_shift_of_five_points_is_caught_at_4000_draws(p, at_least):
    """Exact powers. Around p = 0.5 five points are 6.3 standard deviations, which is just where the bound of 1e-8 lies."""
    assert power(p, p + 0.05, 4000) > at_least
    want, exact = np.array([p, 1 - p]), round(4000 * (p + 0.05))
    refused(expect.same_distribution, np.repeat([0, 1], [exact, 4000 - exact]), want)


@pytest.mark.parametrize("p", [0.3, 0.5, 0.7])
def test_a_shift_of_five_points_is_always_caught_at_10000_draws(p):
    assert power(p, p + 0.05, 10_000) > 0.999


# ---- same_tokens -------------------------------------------------------------------------------------------------


def test_same_tokens_accepts():
    expect.same_tokens([[1, 2], [3]], [[1, 2], [3]])
    expect.same_tokens([np.array([1, 2]), [3]], [[1, 2], [3]])
    expect.same_tokens(np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    expect.same_tokens([], [])


@pytest.mark.parametrize("got", [*NOT_TENSORS, 3, [1, 2], [[1], None], [[1], Foreign("Tensor")]])
def test_same_tokens_refuses_what_is_no_list_of_lists(got):
    assert refused(expect.same_tokens, got, [[1], [2]]).kind == "type"


def test_same_tokens_names_the_first_divergence():
    error = refused(
        expect.same_tokens,
        [[1, 2, 3], [4, 9, 6]],
        [[1, 2, 3], [4, 5, 6]],
        prompts=("Hello", "Bye"),
        decode=lambda ids: "".join(f"<{i}>" for i in ids),
    )
    assert error.kind == "divergence" and error.headline == "first difference in prompt 1 at token 1"
    text = " ".join(error.lines)
    assert "Bye<4>" in text and "want 5 '<5>'" in text and "got 9 '<9>'" in text and "1 of 2" in text


@pytest.mark.parametrize(
    ("got", "words"), [([[1, 2]], "got the end"), ([[1, 2, 3, 4]], "want the end"), ([[]], "got the end")]
)
def test_same_tokens_of_another_length(got, words):
    assert words in " ".join(refused(expect.same_tokens, got, [[1, 2, 3]]).lines)


def test_same_tokens_counts_the_prompts():
    assert refused(expect.same_tokens, [[1]], [[1], [2]]).kind == "shape"


# ---- raised ------------------------------------------------------------------------------------------------------


def test_raised_accepts():
    expect.raised({"raised": "ValueError", "text": "top_p must be ..."}, "ValueError", mentions="TOP_P")
    expect.raised({"raised": "KeyError", "text": ""}, ("ValueError", "KeyError"))


@pytest.mark.parametrize(
    "got", [None, {}, {"raised": None}, {"out": 3}, Foreign("Req"), "ValueError", [1], evidence(X)]
)
def test_raised_refuses_when_nothing_was_raised(got):
    assert "nothing was raised" in refused(expect.raised, got, "ValueError").headline


def test_raised_checks_the_type_and_the_words():
    assert "TypeError was raised" in refused(expect.raised, {"raised": "TypeError", "text": "x"}, "ValueError").headline
    assert (
        "must name 'seed'"
        in refused(expect.raised, {"raised": "ValueError", "text": "bad"}, "ValueError", mentions="seed").headline
    )
    assert refused(expect.raised, {}, "ValueError", mistake="not-refused").mistake == "not-refused"


def test_expected_values_that_make_no_sense_are_the_authors_error():
    for bad in (np.array([0.5, np.nan]), np.array([0.5, 0.2]), np.array([1.5, -0.5])):
        with pytest.raises(expect.BadExpectation):
            expect.same_distribution(np.zeros(10, np.int64), bad)


def test_a_suspect_that_is_no_distribution_explains_nothing():
    draws = np.zeros(4000, np.int64)
    with pytest.raises(expect.Mismatch) as caught:
        expect.same_distribution(draws, np.array([0.5, 0.5]), suspects={"nan": np.array([np.nan, np.nan]), "other shape": np.array([1.0, 0, 0])})
    assert caught.value.mistake is None
