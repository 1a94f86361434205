"""Exercise 141: SamplingParams, what is greedy and what is refused."""

from judge import expect

NAN, INF = float("nan"), float("inf")

GREEDY = [  # parameters, is_greedy
    ({}, True),
    ({"temperature": 0.0}, True),
    ({"temperature": 0}, True),
    ({"temperature": -0.0, "top_k": 50}, True),
    ({"temperature": 0.0, "top_p": 0.5}, True),
    ({"temperature": 0.0, "top_p": 0.0, "min_p": 0.3, "seed": 3}, True),
    ({"temperature": 1.0, "top_k": 1}, True),
    ({"temperature": 0.7, "top_k": 1, "top_p": 0.9}, True),
    ({"temperature": 1.0}, False),
    ({"temperature": 1.0, "top_k": -1}, False),
    ({"temperature": 1.0, "top_k": 0}, False),
    ({"temperature": 0.3, "top_k": 2}, False),
    ({"temperature": 1e-6, "top_p": 0.01}, False),
    ({"temperature": 1.0, "top_p": 0.0}, False),
    ({"temperature": 1.0, "max_tokens": 1, "seed": 0}, False),
    ({"temperature": 2, "min_p": 1.0}, False),
]

ACCEPTED = [
    ("temperature", [0, 0.0, 1, 1e-8, 0.7, 100.0]),
    ("top_p", [0, 0.0, 0.5, 1, 1.0, 1e-9]),
    ("min_p", [0, 0.0, 0.05, 1, 1.0]),
    ("top_k", [-1, 0, 1, 2, 50, 10**6]),
    ("max_tokens", [1, 2, 10**6]),
    ("seed", [None, 0, 1, -1, 2**63 - 1, -(2**63), 1234567890123]),
    ("ignore_eos", [True, False]),
]
OUT_OF_RANGE = [
    ("temperature", [-1, -0.5, -1e-9]),
    ("top_p", [-0.1, -1, 1.1, 1.0000001, 2]),
    ("min_p", [-0.1, -1e-9, 1.5, 2]),
    ("top_k", [-2, -100]),
    ("max_tokens", [0, -1, -1000]),
    ("seed", [2**63, -(2**63) - 1, 2**64]),
]
NOT_FINITE = [(field, [NAN, INF, -INF]) for field in ("temperature", "top_p", "min_p", "top_k", "max_tokens", "seed")]
WRONG_TYPE = [
    ("temperature", ["0.7", "hot", "", None, [0.5]]),
    ("top_p", ["1.0", "", None, {}]),
    ("min_p", ["0.1", None, [0.0]]),
    ("top_k", ["3", None, 1.0, 2.5, -1.0]),
    ("max_tokens", ["16", None, 16.0, 1.5, [4]]),
    ("seed", ["7", "", 7.0, 0.0, 1.5, [], [1]]),
]
BOOLS = [(field, [True, False]) for field in ("temperature", "top_p", "min_p", "top_k", "max_tokens", "seed")]


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def greedy(params):
    from minisgl.core import SamplingParams

    answers = []
    for p in params:
        try:
            made = SamplingParams(**p)
        except ValueError as error:  # another check looks at what is refused
            answers.append(f"ValueError: {error}")
            continue
        answers.append(made.is_greedy)
    return answers


def tried(cases):
    """For each field and value: "accepted", "changed" if the object holds another value, or how it was refused."""
    from minisgl.core import SamplingParams

    rows = []
    for field, values in cases:
        for value in values:
            text = ""
            try:
                params = SamplingParams(**{field: value})
                held = getattr(params, field)
                outcome = "accepted" if type(held) is type(value) and (held == value or value != value) else "changed"
                if params.validate() is not None:
                    outcome = "validate returned something"
            except NotImplementedError:
                raise
            except ValueError as error:
                outcome, text = "ValueError", str(error)
            except Exception as error:
                outcome, text = type(error).__name__, str(error)
            rows.append({"field": field, "value": repr(value), "outcome": outcome, "names": field in text})
    return rows


def one_wrong_among_many(cases):
    """Objects with several fields set, one of them wrong: the outcome, and which fields the message names."""
    from minisgl.core import SamplingParams

    rows = []
    for params in cases:
        try:
            SamplingParams(**params)
            rows.append({"outcome": "accepted", "text": ""})
        except NotImplementedError:
            raise
        except Exception as error:
            rows.append({"outcome": "ValueError" if isinstance(error, ValueError) else type(error).__name__, "text": str(error)})
    return rows


# ---- comparing ---------------------------------------------------------------------------------------------------


def check(rows, want, title, suspects):
    """All rows have the outcome `want`. A suspect: (a test of row -> may be wrong, the outcome that it then has)."""
    wrong = [row for row in rows if row["outcome"] != want]
    if not wrong:
        return
    mistake = None
    for name, (place, outcome) in suspects.items():
        if all(place(row) and row["outcome"] in outcome for row in wrong):
            mistake = name
            break
    lines = [f"SamplingParams({row['field']}={row['value']}): want {want}, got {row['outcome']}" for row in wrong[:5]]
    raise expect.Mismatch("mistake" if mistake else "mismatch", title, lines, mistake)


def everywhere(row):
    return True


def floats_for_ints(row):
    return row["field"] in ("top_k", "max_tokens", "seed") and "." in row["value"] and "'" not in row["value"]


TYPE_ERROR = {"type-error-instead": (everywhere, ("TypeError", "OverflowError", "AttributeError"))}
ASSERTS = {"asserts-instead-of-raising": (everywhere, ("AssertionError",))}
CLIPPED = {"clipped-instead-of-refused": (everywhere, ("changed",))}


# ---- tests -------------------------------------------------------------------------------------------------------


def test_is_greedy(tree):
    """Greedy means temperature 0 or top_k 1, whatever top_p is, and nothing else"""
    params = [p for p, _ in GREEDY]
    full = [{"temperature": 0.0, "top_k": -1, "top_p": 1.0} | p for p in params]
    suspects = {
        "greedy-needs-top-p-one": [(p["temperature"] <= 0 or p["top_k"] == 1) and p["top_p"] == 1 for p in full],
        "top-k-one-forgotten": [p["temperature"] <= 0 for p in full],
        "only-top-k-one": [p["top_k"] == 1 for p in full],
        "both-needed": [p["temperature"] <= 0 and p["top_k"] == 1 for p in full],
        "top-k-off-is-greedy": [p["temperature"] <= 0 or p["top_k"] <= 1 for p in full],
        "tiny-temperature-is-greedy": [p["temperature"] < 1e-5 or p["top_k"] == 1 for p in full],
        "top-p-zero-is-greedy": [p["temperature"] <= 0 or p["top_k"] == 1 or p["top_p"] == 0 for p in full],
    }
    got = tree.run(greedy, params=params)
    want = [right for _, right in GREEDY]
    expect.that(isinstance(got, list) and len(got) == len(want), "is_greedy cannot be read")
    mistake = next((name for name, other in suspects.items() if other == got and other != want), None)
    for p, mine, right in zip(params, got, want, strict=True):
        if mine is not right:
            lines = [f"SamplingParams({', '.join(f'{k}={v}' for k, v in p.items())}).is_greedy: want {right}, got {mine}"]
            raise expect.Mismatch("mistake" if mistake else "mismatch", "is_greedy is wrong", lines, mistake)


def test_accepted(tree):
    """The ends of each range are accepted, ints where numbers are wanted, and every value stays as it was given"""
    edges = {"temperature": ("0", "0.0"), "top_p": ("0", "0.0", "1", "1.0"), "min_p": ("0", "0.0", "1", "1.0")}
    edges |= {"top_k": ("-1", "0"), "max_tokens": ("1",), "seed": (str(2**63 - 1), str(-(2**63)))}
    suspects = {
        "ends-refused": (lambda row: row["value"] in edges.get(row["field"], ()), ("ValueError",)),
        "ints-refused-for-floats": (
            lambda row: row["field"] in ("temperature", "top_p", "min_p") and "." not in row["value"] and "e" not in row["value"],
            ("ValueError",),
        ),
        "seed-must-be-positive": (lambda row: row["field"] == "seed" and row["value"].startswith("-"), ("ValueError",)),
    }
    got = tree.run(tried, cases=ACCEPTED)
    check(got, "accepted", "a valid value is not accepted as it is", suspects)


def test_out_of_range(tree):
    """Values outside their range are refused with ValueError"""
    suspects = {
        "seed-range-forgotten": (lambda row: row["field"] == "seed", ("accepted",)),
        "max-tokens-zero-passes": (lambda row: row["field"] == "max_tokens" and row["value"] == "0", ("accepted",)),
    }
    got = tree.run(tried, cases=OUT_OF_RANGE)
    check(got, "ValueError", "a value outside its range is not refused", suspects | CLIPPED | ASSERTS | TYPE_ERROR)


def test_not_finite(tree):
    """NaN and infinity are refused with ValueError, in every field"""
    suspects = {
        "nan-passes": (lambda row: row["value"] == "nan", ("accepted",)),
        "infinity-passes": (lambda row: row["value"] in ("inf", "-inf"), ("accepted",)),
        "not-finite-passes": (everywhere, ("accepted",)),
    }
    got = tree.run(tried, cases=NOT_FINITE)
    check(got, "ValueError", "NaN or an infinity is not refused", suspects | CLIPPED | ASSERTS | TYPE_ERROR)


def test_wrong_types(tree):
    """Strings, None, lists, and floats for an int are refused with ValueError, not with TypeError"""
    suspects = {
        "falsy-seed-passes": (lambda row: row["field"] == "seed" and row["value"] in ("''", "0.0", "[]"), ("accepted",)),
        "floats-pass-for-ints": (floats_for_ints, ("accepted",)),
        "seed-type-forgotten": (lambda row: row["field"] == "seed", ("accepted",)),
        "none-passes": (lambda row: row["value"] == "None", ("accepted",)),
    }
    got = tree.run(tried, cases=WRONG_TYPE)
    check(got, "ValueError", "a value of a wrong type is not refused", suspects | TYPE_ERROR | ASSERTS | CLIPPED)


def test_bools(tree):
    """True and False are no numbers here: they are refused with ValueError"""
    suspects = {"bools-pass": (everywhere, ("accepted",))}
    got = tree.run(tried, cases=BOOLS)
    check(got, "ValueError", "a bool is not refused", suspects | TYPE_ERROR | ASSERTS | CLIPPED)


def test_the_message_names_the_field(tree):
    """The message names the field that is wrong"""
    got = tree.run(tried, cases=OUT_OF_RANGE + NOT_FINITE + WRONG_TYPE)
    silent = [row for row in got if row["outcome"] == "ValueError" and not row["names"]]
    lines = [f"SamplingParams({row['field']}={row['value']}): the message does not hold '{row['field']}'" for row in silent[:4]]
    expect.that(not silent, "the error does not name the field", lines, mistake="field-not-named")


def test_every_field_is_checked(tree):
    """Each field is checked, also where others are set, and greedy requests are checked like all others"""
    good = {"temperature": 0.8, "top_k": 5, "top_p": 0.9, "min_p": 0.1, "seed": 3, "max_tokens": 10}
    bad = {"temperature": -1, "top_k": -5, "top_p": 1.5, "min_p": -0.5, "seed": "x", "max_tokens": 0}
    cases = [good | {field: value} for field, value in bad.items()]
    cases += [{"temperature": 0.0, field: bad[field]} for field in ("top_p", "min_p", "max_tokens", "top_k", "seed")]
    cases += [{"top_k": 1, field: bad[field]} for field in ("top_p", "min_p", "temperature")]
    fields = [*bad, "top_p", "min_p", "max_tokens", "top_k", "seed", "top_p", "min_p", "temperature"]
    got = tree.run(one_wrong_among_many, cases=[good, *cases])
    expect.equal(got[0]["outcome"], "accepted", f"the outcome of SamplingParams({good})")
    missed = [i for i, row in enumerate(got[1:]) if row["outcome"] != "ValueError"]
    lines = [f"SamplingParams(**{cases[i]}): want ValueError, got {got[i + 1]['outcome']}" for i in missed[:4]]
    greedy_only = bool(missed) and all(i >= len(bad) for i in missed) and all(got[i + 1]["outcome"] == "accepted" for i in missed)
    expect.that(not missed, "a wrong value is not refused", lines, mistake="greedy-is-not-checked" if greedy_only else None)
    silent = [(cases[i], field) for i, field in enumerate(fields) if field not in got[i + 1]["text"]]
    lines = [f"SamplingParams(**{case}): the message does not hold '{field}'" for case, field in silent[:4]]
    expect.that(not silent, "the error does not name the field", lines, mistake="field-not-named")
