"""Comparisons for hidden tests. Each either returns or raises `Mismatch`, whose fields are data for the report.

`suspects` names known mistakes (stems of files in judge/wrong/) together with what each would produce: an array to compare
with, a bool, or a function of the evidence. If the evidence is not what is wanted but is what a suspect predicts, the
mismatch carries that mistake's name and the report says its sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from judge.wire import Foreign

SHOWN = 5


class Mismatch(AssertionError):
    """What was found is not what was expected."""

    def __init__(self, kind: str, headline: str, lines: Sequence[str] = (), mistake: str | None = None) -> None:
        super().__init__(headline)
        self.kind, self.headline, self.lines, self.mistake = kind, headline, list(lines), mistake


class BadExpectation(Exception):
    """The test itself is wrong: an expected value that nothing could meet, or that anything would."""


def that(
    condition: Any, headline: str, lines: Sequence[str] = (), mistake: str | None = None, kind: str = "mismatch"
) -> None:
    """Fail with `headline` unless `condition` holds. With `mistake`, the failure is that known mistake."""
    if not condition:
        raise Mismatch("mistake" if mistake else kind, headline, lines, mistake)


def equal(got: Any, want: Any, name: str = "the result", suspects: dict[str, Any] | None = None) -> None:
    """Exact equality of numbers, strings, lists, dicts, or integer and bool tensors (shape included, dtype not)."""
    if isinstance(want, np.ndarray):
        close(got, want, name=name, atol=0.0, suspects=suspects)
        return
    plain = got.tolist() if isinstance(got, np.ndarray) else got
    if plain == want and isinstance(plain, bool) == isinstance(want, bool):
        return
    mistake = _suspected(plain, suspects, lambda alternative: plain == alternative)
    if isinstance(got, Foreign):
        raise Mismatch("type", f"{name}: a {got.type_name}, not what is wanted", [f"want {_short(want)}"], mistake)
    lines = _first_difference(plain, want) if isinstance(want, list) and isinstance(plain, list) else []
    raise Mismatch(
        "mistake" if mistake else "mismatch",
        f"{name}: not as wanted",
        lines or [f"want {_short(want)}", f"got  {_short(plain)}"],
        mistake,
    )


def _first_difference(got: list, want: list) -> list[str]:
    if len(got) != len(want):
        return [f"want {len(want)} entries: {_short(want)}", f"got  {len(got)} entries: {_short(got)}"]
    at = next((i for i, (a, b) in enumerate(zip(got, want, strict=True)) if a != b), 0)
    return [
        f"first difference at index {at}: want {_short(want[at])}, got {_short(got[at])}",
        f"want {_short(want)}",
        f"got  {_short(got)}",
    ]


def _short(value: Any, limit: int = 68) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def is_tensor(
    got: Any, name: str = "the result", shape: tuple | None = None, dtype: str | tuple[str, ...] | None = None
) -> np.ndarray:
    """Check that `got` is a tensor (of this shape, of one of these torch dtypes) and return it."""
    if not isinstance(got, np.ndarray):
        what = (
            "None" if got is None else f"a {got.type_name}" if isinstance(got, Foreign) else f"a {type(got).__name__}"
        )
        hint = ["Is a `return` missing?"] if got is None else []
        raise Mismatch("type", f"{name}: {what} where a tensor is wanted", hint)
    if shape is not None and tuple(got.shape) != tuple(shape):
        raise Mismatch("shape", f"{name}: shape {list(got.shape)}; want {list(shape)}")
    if dtype is not None:
        wanted = (dtype,) if isinstance(dtype, str) else dtype
        actual = getattr(got, "torch_dtype", "") or str(got.dtype)
        if actual not in wanted:
            raise Mismatch("dtype", f"{name}: dtype {actual}; want {' or '.join(wanted)}")
    return got


def close(
    got: Any,
    want: Any,
    *,
    atol: float = 1e-4,
    rtol: float = 0.0,
    name: str = "the result",
    axes: Sequence[str] = (),
    dtype: str | tuple[str, ...] | None = None,
    suspects: dict[str, Any] | None = None,
) -> None:
    """Element-wise |got - want| <= atol + rtol * |want|; NaN equals nothing, infinities must agree in sign and place.

    Args:
        axes: names of the axes, used to say where the first wrong places are ("token 3, head 1").
        dtype: the torch dtype(s) that the tensor may have.
        suspects: known mistakes and what each would give; see the module's docstring.
    """
    want = np.asarray(want)
    if not isinstance(got, np.ndarray) and isinstance(got, (list, int, float, bool)) and not isinstance(got, Foreign):
        try:
            got = np.asarray(got)
        except ValueError:
            raise Mismatch("shape", f"{name}: a ragged list; want shape {list(want.shape)}") from None
    is_tensor(got, name)
    if got.dtype == object:
        raise Mismatch("type", f"{name}: no array of numbers")
    fits = lambda alternative: _wrong_places(got, np.asarray(alternative), atol, rtol) is False  # noqa: E731
    if tuple(got.shape) != tuple(want.shape):
        mistake = _suspected(got, suspects, fits)
        raise Mismatch(
            "mistake" if mistake else "shape",
            f"{name}: shape {list(got.shape)}; want {list(want.shape)}",
            [],
            mistake,
        )
    wrong = _wrong_places(got, want, atol, rtol)
    if wrong is False:
        if dtype is not None:
            is_tensor(got, name, dtype=dtype)
        return
    mistake = _suspected(got, suspects, fits)
    raise Mismatch("mistake" if mistake else "mismatch", *_describe(got, want, wrong, name, axes), mistake)


def _wrong_places(got: np.ndarray, want: np.ndarray, atol: float, rtol: float) -> np.ndarray | bool:
    """A mask of wrong elements, or False if all are right; True where the shapes differ."""
    if tuple(got.shape) != tuple(want.shape):
        return True
    if got.dtype.kind in "iub" and want.dtype.kind in "iub" and atol == 0:
        wrong = np.asarray(got != want)
    else:
        a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            right = np.where(np.isfinite(b), np.abs(a - b) <= atol + rtol * np.abs(b), a == b)
        wrong = ~right
    return wrong if wrong.any() else False


def _suspected(got: Any, suspects: dict[str, Any] | None, fits: Callable[[Any], bool]) -> str | None:
    for mistake, alternative in (suspects or {}).items():
        if callable(alternative):
            try:
                hit = bool(alternative(got))
            except (TypeError, ValueError, IndexError, KeyError, AttributeError):
                hit = False
        elif isinstance(alternative, (bool, np.bool_)):
            hit = bool(alternative)
        else:
            hit = alternative is not None and bool(np.all(fits(alternative)))
        if hit:
            return mistake
    return None


def _describe(
    got: np.ndarray, want: np.ndarray, wrong: np.ndarray, name: str, axes: Sequence[str]
) -> tuple[str, list[str]]:
    total, bad = wrong.size, int(wrong.sum())
    exact = got.dtype.kind in "iub" and want.dtype.kind in "iub"
    if (
        not exact
        and not np.isfinite(np.asarray(got, np.float64)).all()
        and np.isfinite(np.asarray(want, np.float64)).all()
    ):
        count = int((~np.isfinite(np.asarray(got, np.float64))).sum())
        headline = f"{name}: {count} NaN or infinite values"
    else:
        headline = f"{name}: wrong in {bad} of {total} places" if total > 1 else f"{name}: wrong"
    if not exact:
        with np.errstate(invalid="ignore"):
            error = np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64))
        largest = np.nanmax(np.where(wrong, error, np.nan)) if np.isfinite(error[wrong]).any() else math.nan
        lines = [f"largest error {largest:.3g}, {100 * bad / total:.3g} % of the values"]
    else:
        lines = []
    for place in list(zip(*np.nonzero(wrong), strict=True))[:SHOWN] if wrong.ndim else [()]:
        where = ", ".join(f"{axes[i] if i < len(axes) else f'axis {i}'} {int(at)}" for i, at in enumerate(place))
        lines.append(f"{where + ': ' if where else ''}want {_number(want[place])}, got {_number(got[place])}")
    return headline, lines


def _number(value: Any) -> str:
    return f"{float(value):.6g}" if np.asarray(value).dtype.kind == "f" else str(np.asarray(value).item())


def same_distribution(
    tokens: Any,
    probabilities: np.ndarray,
    *,
    error: float = 1e-8,
    name: str = "the sampled tokens",
    rows: Sequence[str] = (),
    suspects: dict[str, Any] | None = None,
) -> None:
    """Draws follow their distributions: no draw outside the support, and every frequency within a bound.

    For each token the deviation of its frequency f from its probability p is bounded by Chernoff's inequality,
    P(deviation at least this large) <= 2 exp(-n KL(f || p)); over all tokens and rows, right code fails with probability
    at most `error`.

    Args:
        tokens: draws [n] or [rows, n], integers.
        probabilities: [vocabulary] or [rows, vocabulary], each row sums to 1; a zero means "never".
        rows: what to call each row in the report, for example its parameters.
        suspects: mistake -> the distributions that it would draw from (same shape as `probabilities`); it must explain all rows.
    """
    want = np.atleast_2d(np.asarray(probabilities, np.float64))
    if not _is_distribution(want):
        raise BadExpectation("the expected rows are no distributions: each must be finite, >= 0 and sum to 1")
    draws = np.atleast_2d(np.asarray(is_tensor(tokens, name)))
    if draws.dtype.kind not in "iu":
        raise Mismatch(
            "dtype", f"{name}: dtype {getattr(tokens, 'torch_dtype', draws.dtype)}; token ids are integers"
        )
    if draws.ndim != 2 or len(draws) != len(want):
        raise Mismatch("shape", f"{name}: shape {list(draws.shape)}; want {len(want)} rows of draws")
    vocabulary = want.shape[1]
    outside = (draws < 0) | (draws >= vocabulary)
    if outside.any():
        raise Mismatch(
            "mismatch",
            f"{name}: ids outside the vocabulary of {vocabulary}",
            [f"for example {int(draws[outside][0])}"],
        )
    counts = np.stack([np.bincount(row, minlength=vocabulary) for row in draws])
    share = error / len(want)
    wrong = [_unlikely(c, p, share) for c, p in zip(counts, want, strict=True)]
    if not any(mask.any() for mask in wrong):
        return

    def fits(alternative: Any) -> bool:
        table = np.atleast_2d(np.asarray(alternative, np.float64))
        if table.shape != want.shape or not _is_distribution(table):
            return False
        return not any(_unlikely(c, p, share).any() for c, p in zip(counts, table, strict=True))

    mistake = _suspected(tokens, suspects, fits)
    index = next(i for i, mask in enumerate(wrong) if mask.any())
    raise Mismatch(
        "mistake" if mistake else "mismatch",
        *_frequencies(counts[index], want[index], wrong[index], index, rows, name, len(want)),
        mistake,
    )


def _is_distribution(table: np.ndarray) -> bool:
    return bool(np.isfinite(table).all() and (table >= 0).all() and np.allclose(table.sum(-1), 1.0, atol=1e-3))


def _frequencies(
    counts: np.ndarray, want: np.ndarray, wrong: np.ndarray, index: int, rows: Sequence[str], name: str, total: int
) -> tuple[str, list[str]]:
    frequency = counts / max(1, counts.sum())
    label = f"row {index} ({rows[index]}):" if index < len(rows) else (f"row {index}:" if total > 1 else "")
    lines = [label, f"{'token':>7} {'want':>8} {'got':>8}"] if label else [f"{'token':>7} {'want':>8} {'got':>8}"]
    for token in sorted(np.nonzero(wrong)[0], key=lambda t: -abs(frequency[t] - want[t]))[:SHOWN]:
        wanted = "never" if want[token] == 0 else f"{want[token]:.3f}"
        found = "never" if counts[token] == 0 else f"{frequency[token]:.3f}"
        lines.append(f"{token:>7} {wanted:>8} {found:>8}")
    never = int(((want == 0) & (counts > 0)).sum())
    reason = (
        f"leave the allowed set ({never} that must never come)"
        if never
        else f"do not follow the distribution ({counts.sum()} draws)"
    )
    return f"{name} {reason}", lines


def _unlikely(counts: np.ndarray, want: np.ndarray, error: float) -> np.ndarray:
    """Mask of tokens whose count right code would give with probability below error / number of tokens."""
    n = counts.sum()
    if n == 0:
        return np.ones(want.shape, bool)
    p = np.clip(want / want.sum(), 0.0, 1.0)
    f = counts / n
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(f > 0, f * np.log(f / p), 0.0) + np.where(f < 1, (1 - f) * np.log((1 - f) / (1 - p)), 0.0)
    support = max(1, int((p > 0).sum()))
    return np.where(p == 0, counts > 0, n * kl > math.log(2 * support / error))


def same_tokens(
    got: Any,
    want: Sequence[Sequence[int]],
    *,
    prompts: Sequence[str] = (),
    decode: Callable[[list[int]], str] | None = None,
    suspects: dict[str, Any] | None = None,
) -> None:
    """Token lists, one a prompt, equal exactly; the first divergence names prompt, position, text so far and both tokens."""
    wanted = [list(map(int, row)) for row in want]
    if isinstance(got, np.ndarray):
        got = got.tolist()
    if not isinstance(got, list) or not all(isinstance(row, (list, np.ndarray)) for row in got):
        raise Mismatch("type", "the tokens are not a list of lists, one for each prompt")
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in got]
    if rows == wanted:
        return
    mistake = _suspected(rows, suspects, lambda alternative: rows == alternative)
    if len(rows) != len(wanted):
        raise Mismatch("shape", f"tokens for {len(rows)} prompts; want {len(wanted)}", [], mistake)
    index = next(i for i in range(len(rows)) if rows[i] != wanted[i])
    mine, theirs = rows[index], wanted[index]
    at = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    show = (lambda token: f"{token} {decode([token])!r}") if decode else str
    lines = []
    if index < len(prompts):
        so_far = prompts[index] + (decode(theirs[:at]) if decode else "")
        lines.append(f"text so far: {_short(so_far[-60:])}")
    lines.append(
        f"want {show(theirs[at]) if at < len(theirs) else 'the end'}, got {show(mine[at]) if at < len(mine) else 'the end'}"
    )
    lines.append(
        f"prompts that agree to the end: {sum(a == b for a, b in zip(rows, wanted, strict=True))} of {len(rows)}"
    )
    raise Mismatch(
        "mistake" if mistake else "divergence", f"first difference in prompt {index} at token {at}", lines, mistake
    )


def raised(
    got: Any, kinds: str | tuple[str, ...], mentions: str | None = None, what: str = "this", mistake: str | None = None
) -> None:
    """The probe caught an exception and reports it as {"raised": type name, "text": str(e)}; check its type and words."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    name = got.get("raised") if isinstance(got, dict) else None
    label = "mistake" if mistake else "mismatch"
    if name is None:
        raise Mismatch(label, f"{what} must be refused with {' or '.join(kinds)}; nothing was raised", [], mistake)
    if name not in kinds:
        raise Mismatch(
            label,
            f"{what} must be refused with {' or '.join(kinds)}; {name} was raised",
            [_short(str(got.get("text", "")))],
            mistake,
        )
    if mentions and mentions.lower() not in str(got.get("text", "")).lower():
        raise Mismatch(
            label,
            f"the error for {what} must name '{mentions}'",
            [f"its text: {_short(str(got.get('text', '')))}"],
            mistake,
        )
