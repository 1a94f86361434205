"""Exercise 150: layers collect their weights by name and take weights over."""

from judge import expect

MODEL = [
    "embed.weight",
    "layers.0.zeta.weight",
    "layers.0.zeta.bias",
    "layers.0.attn.qkv.weight",
    "layers.0.scale",
    "layers.0.alpha.weight",
    "layers.1.zeta.weight",
    "layers.1.zeta.bias",
    "layers.1.attn.qkv.weight",
    "layers.1.scale",
    "layers.1.alpha.weight",
    "norm",
    "head.custom",
]
PRIVATE = ["_rope", "_cache.weight", "_cache.bias"]
DONE = "OK"


# ---- probes: run next to the learner's code ----------------------------------------------------------------------


def collect():
    """What state_dict gives for some layers: names in order, and whether the tensors are the layers' own."""
    import torch

    from minisgl.layers.base import BaseOP, OPList, StateLessOP

    class Layer(BaseOP):
        def forward(self, x):
            return x

    class Linear(Layer):
        def __init__(self, out, inn, bias=False):
            self.weight = torch.zeros(out, inn)
            self.bias = torch.zeros(out) if bias else None
            self.size = inn

    class Free(StateLessOP):
        def __init__(self, other):
            self.norm = other
            self.table = torch.zeros(3)

        def forward(self, x):
            return x

    class Head(Layer):
        """Names its weights itself, as a layer may."""

        def state_dict(self, prefix="", result=None):
            result = {} if result is None else result
            result[f"{prefix}.custom" if prefix else "custom"] = torch.zeros(1)
            return result

    class Attention(Layer):
        def __init__(self):
            self.qkv = Linear(6, 4)
            self.core = Free(Linear(2, 2))

    class Block(Layer):
        def __init__(self, i):
            self.zeta = Linear(4, 4, bias=True)
            self.attn = Attention()
            self._rope = torch.zeros(8)
            self._cache = Linear(3, 3, bias=True)
            self.scale = torch.tensor(2.0)
            self.name = f"block {i}"
            self.sizes = [torch.zeros(1), torch.zeros(1)]
            self.table = {"weight": torch.zeros(1)}
            self.alpha = Linear(2, 4)
            self.eps = 1e-5

    class Model(Layer):
        def __init__(self):
            self.embed = Linear(9, 4)
            self.layers = OPList([Block(0), Block(1)])
            self.norm = torch.zeros(4)
            self.head = Head()
            self.on = True

    def names(found):
        return list(found) if isinstance(found, dict) else found

    model, small, kinds = Model(), Linear(2, 3, bias=True), Linear(2, 2)
    kinds.weight = torch.zeros(2, 2, dtype=torch.bfloat16)
    kinds.counts, kinds.in_ = torch.zeros(3, dtype=torch.int64), torch.zeros(0, 4)
    twelve, mixed = OPList([Linear(1, 1) for _ in range(12)]), OPList([Free(small), small, OPList([Linear(1, 1)])])
    own = model.state_dict()
    given = {"earlier": torch.zeros(1)}
    returned = small.state_dict("x", given)
    empty = {}
    of_empty = model.state_dict("", empty)
    listed = {}
    of_list = twelve.state_dict("layers", listed)
    identical = {}
    kept = kinds.state_dict()
    if isinstance(own, dict):
        with torch.no_grad():
            for name, member in (
                ("norm", model.norm),
                ("embed.weight", model.embed.weight),
                ("layers.1.scale", model.layers.op_list[1].scale),
            ):
                identical[name] = bool(
                    isinstance(own.get(name), torch.Tensor) and own[name].data_ptr() == member.data_ptr()
                )
    return {
        "model": names(own),
        "again": names(model.state_dict()),
        "prefixed": names(model.state_dict("model")),
        "small": names(small.state_dict()),
        "kinds": names(kinds.state_dict()),
        "deep": names(small.state_dict("a.b")),
        "given": names(given),
        "given is returned": returned is given,
        "empty": names(empty),
        "empty is returned": of_empty is empty,
        "twelve": names(twelve.state_dict()),
        "layers": names(listed),
        "list is returned": of_list is listed,
        "mixed": names(mixed.state_dict("m")),
        "none": names(OPList([]).state_dict()),
        "identical": identical,
        "tensors": isinstance(kept, dict) and all(isinstance(w, torch.Tensor) for w in kept.values()),
        "attributes": [sorted(vars(small)), sorted(vars(twelve))],
    }


def load(cases):
    """Load a small model from a dict that each case spoils in its way: what happened, and what is where afterwards."""
    from types import MappingProxyType

    import torch

    from minisgl.layers.base import BaseOP, OPList, StateLessOP

    class Layer(BaseOP):
        def forward(self, x):
            return x

    class Linear(Layer):
        def __init__(self, out, inn, bias=False):
            self.weight = torch.full((out, inn), -1.0)
            self.bias = torch.full((out,), -1.0) if bias else None
            self._cache = torch.full((2,), -1.0)
            self.size = inn

    class Free(StateLessOP):
        def __init__(self, other):
            self.norm = other

        def forward(self, x):
            return x

    class Head(Layer):
        """Takes one more weight than it lists, as a layer may."""

        def __init__(self):
            self.weight = torch.full((3, 2), -1.0)

        def load_state_dict(self, state_dict, prefix="", *, _internal=False):
            state_dict.pop(f"{prefix}.spare", None)
            super().load_state_dict(state_dict, prefix, _internal=_internal)

    class Block(Layer):
        def __init__(self, i):
            self.up = Linear(4, 2, bias=True)
            self.down = Linear(2, 4)
            self.free = Free(self.up)
            self._private = Linear(2, 2)

    class Model(Layer):
        def __init__(self, blocks):
            self.embed = Linear(7, 2)
            self.layers = OPList([Block(i) for i in range(blocks)])
            self.scale = torch.tensor(-1.0)
            self.head = Head()

    def attempt(call):
        try:
            call()
        except NotImplementedError:
            raise
        except Exception as error:
            return {"raised": type(error).__name__, "text": str(error)}
        return "OK"

    def one(case):
        blocks = 11
        shapes = {"embed.weight": (7, 2), "scale": (), "head.weight": (3, 2)}
        for i in range(blocks):
            shapes |= {f"layers.{i}.up.weight": (4, 2), f"layers.{i}.up.bias": (4,), f"layers.{i}.down.weight": (2, 4)}
        order = torch.randperm(len(shapes)).tolist()
        weights = {name: torch.randn(shapes[name]) for name in (list(shapes)[i] for i in order)}

        with torch.device("meta" if case == "meta" else "cpu"):
            model = Model(blocks)
        target, prefix, internal = model, "", False
        if case == "prefix":
            prefix = "model"
            weights = {f"model.{name}": weight for name, weight in weights.items()}
        elif case == "list":
            target, prefix = model.layers, "layers"
            weights = {name: weight for name, weight in weights.items() if name.startswith("layers.")}
        elif case == "list bare":
            target = model.layers
            weights = {
                name.removeprefix("layers."): weight for name, weight in weights.items() if name.startswith("layers.")
            }
        elif case == "list extra":
            target, prefix = model.layers, "layers"
        elif case in ("inner", "inner list"):
            target, prefix, internal = (
                (model.layers.op_list[1].up, "layers.1.up", True) if case == "inner" else (model.layers, "layers", True)
            )
        elif case == "spare":
            weights["head.spare"] = torch.zeros(5)
        elif case == "missing":
            del weights["layers.7.down.weight"]
        elif case == "missing bias":
            del weights["layers.3.up.bias"]
        elif case == "shape":
            weights["layers.2.up.weight"] = torch.zeros(2, 4)
        elif case == "broadcast":
            weights["layers.2.up.weight"] = torch.zeros(1, 2)
        elif case == "dtype":
            weights["layers.10.down.weight"] = weights["layers.10.down.weight"].bfloat16()
        elif case == "extra":
            weights |= {"lm_head.weight": torch.zeros(1), "layers.11.up.weight": torch.zeros(4, 2)}
        elif case == "bias without a place":
            weights["layers.0.down.bias"] = torch.zeros(2)
        elif case == "private":
            weights["layers.0._private.weight"] = torch.zeros(2, 2)
        elif case == "stateless":
            weights["layers.0.free.norm.weight"] = torch.zeros(4, 2)
        before = dict(weights)
        given = MappingProxyType(weights) if case == "read only" else weights
        outcome = attempt(
            lambda: (
                target.load_state_dict(given, prefix, _internal=internal)
                if internal
                else target.load_state_dict(given, prefix)
            )
        )

        members = {"embed.weight": model.embed.weight, "scale": model.scale, "head.weight": model.head.weight}
        for i, block in enumerate(model.layers.op_list):
            members |= {
                f"layers.{i}.up.weight": block.up.weight,
                f"layers.{i}.up.bias": block.up.bias,
                f"layers.{i}.down.weight": block.down.weight,
            }
        mine = {name.removeprefix("model.") if case == "prefix" else name: weight for name, weight in before.items()}
        if case == "list bare":
            mine = {f"layers.{name}": weight for name, weight in mine.items()}
        taken = {}
        for name, member in members.items():
            if name in mine:
                right = (
                    isinstance(member, torch.Tensor)
                    and member.shape == mine[name].shape
                    and member.device.type == "cpu"
                )
                same = right and member.data_ptr() == mine[name].data_ptr()
                taken[name] = (
                    "shared" if same else "copied" if right and torch.equal(member, mine[name]) else "not loaded"
                )
        second = attempt(lambda: Model(blocks).load_state_dict(before)) if case == "complete" else None
        untouched = (
            torch.equal(model.layers.op_list[0].up._cache, torch.full((2,), -1.0)) if case == "complete" else None
        )
        return {
            "outcome": outcome,
            "taken": taken,
            "left": sorted(weights),
            "before": sorted(before),
            "second": second,
            "private untouched": untouched,
            "bias is None": model.layers.op_list[0].down.bias is None,
        }

    return {case: one(case) for case in cases}


# ---- expectations ------------------------------------------------------------------------------------------------


def with_private():
    """MODEL as it reads when private names are not passed over."""
    names = []
    for name in MODEL:
        names.append(name)
        if name.endswith("attn.qkv.weight"):
            names += [name.replace("attn.qkv.weight", private) for private in PRIVATE]
    return names


def loads(tree, *cases):
    """Dicts that fit are taken over without an error; returns the evidence of each case."""
    got = tree.run(load, cases=list(cases))
    for case in cases:
        outcome = got[case]["outcome"]
        if outcome != DONE:
            leftovers = outcome["raised"] == "RuntimeError" and case.startswith("inner")
            lines = [f"case: {case}", str(outcome["text"])[:110]]
            mistake = "nested-calls-check-leftovers" if leftovers else None
            expect.that(False, f"loading a dict that fits raises {outcome['raised']}", lines, mistake=mistake)
    return got


def all_shared(found, case, start=""):
    """Every weight whose name begins with `start` is the dict's own tensor."""
    taken = {name: how for name, how in found["taken"].items() if name.startswith(start)}
    copied = set(taken.values()) == {"copied"}
    lines = [f"case: {case}", *(f"{name}: {how}" for name, how in taken.items() if how != "shared")]
    mistake = "weights-copied" if copied else None
    expect.that(
        len(lines) == 1,
        f"{len(lines) - 1} of {len(taken)} weights are not the tensors of the dict",
        lines[:7],
        mistake=mistake,
    )


# ---- tests -------------------------------------------------------------------------------------------------------


def test_names_and_order(tree):
    """state_dict lists every tensor under its dotted path, in the order in which the attributes were set"""
    got = tree.run(collect)
    expect.equal(
        got["model"],
        MODEL,
        "the names of a small model",
        suspects={
            "private-names-listed": with_private(),
            "index-behind-op-list": [n.replace("layers.", "layers.op_list.") for n in MODEL],
            "empty-prefix-gets-a-dot": [f".{n}" for n in MODEL],
        },
    )
    expect.equal(got["again"], MODEL, "the names at a second call")
    expect.equal(got["prefixed"], [f"model.{n}" for n in MODEL], "the names with the prefix 'model'")
    expect.equal(got["small"], ["weight", "bias"], "the names of one layer with a bias")
    expect.equal(got["deep"], ["a.b.weight", "a.b.bias"], "the names with the prefix 'a.b'")
    expect.equal(
        got["kinds"], ["weight", "counts", "in_"], "the names of a layer with bfloat16, int64 and empty tensors"
    )
    expect.equal(got["tensors"], True, "'everything in the dict is a tensor'")
    expect.equal(
        got["attributes"], [["bias", "size", "weight"], ["op_list"]], "the attributes of the layers after state_dict()"
    )


def test_lists(tree):
    """The layers of an OPList are named by their index, also where one of them has no weights"""
    got = tree.run(collect)
    twelve = [f"{i}.weight" for i in range(12)]
    listed = {
        "index-behind-op-list": [f"op_list.{n}" for n in twelve],
        "empty-prefix-gets-a-dot": [f".{n}" for n in twelve],
    }
    expect.equal(got["twelve"], twelve, "the names of a list of 12 layers", suspects=listed)
    expect.equal(got["layers"], [f"layers.{n}" for n in twelve], "the names of a list with the prefix 'layers'")
    expect.equal(
        got["mixed"], ["m.1.weight", "m.1.bias", "m.2.0.weight"], "the names of a list of (no weights, a layer, a list)"
    )
    expect.equal(got["none"], [], "the names of an empty list")


def test_the_given_dict(tree):
    """The names go into the dict that was given, behind what it holds, and that dict is returned"""
    got = tree.run(collect)
    dropped = {"empty-dict-replaced": []}
    expect.equal(
        got["given"], ["earlier", "x.weight", "x.bias"], "a dict with one entry, after state_dict(prefix, it),"
    )
    expect.equal(got["empty"], MODEL, "an empty dict, after state_dict('', it),", suspects=dropped)
    expect.equal(
        got["layers"],
        [f"layers.{i}.weight" for i in range(12)],
        "an empty dict, after a list's state_dict('layers', it),",
        suspects=dropped,
    )
    for key in ("given is returned", "empty is returned", "list is returned"):
        expect.equal(got[key], True, f"'the {key}'")
    for name, shared in got["identical"].items():
        expect.equal(shared, True, f"'{name} in the dict is the layer's tensor, not a copy'")
    expect.equal(sorted(got["identical"]), ["embed.weight", "layers.1.scale", "norm"], "the names that were looked up")


def test_loading_by_reference(tree):
    """Loading puts the dict's own tensors in place of the layers' ones, in any order of the dict"""
    got = loads(tree, "complete", "meta", "prefix", "list", "list bare", "spare")
    for case, found in got.items():
        all_shared(found, case, "layers." if case.startswith("list") else "")
    complete = got["complete"]
    expect.equal(complete["private untouched"], True, "'the private tensor is as before'")
    expect.equal(complete["bias is None"], True, "'a bias of None stays None'")
    emptied = {"callers-dict-emptied": lambda outcome: outcome["raised"] == "KeyError"}
    expect.equal(complete["second"], DONE, "loading the same dict into a second model", suspects=emptied)


def test_the_callers_dict(tree):
    """The caller keeps its dict as it was, after a success and after an error; it may be read-only"""
    got = tree.run(load, cases=["complete", "missing", "extra", "list", "list extra"])
    for case, found in got.items():
        emptied = {"callers-dict-emptied": lambda left, before=found["before"]: len(left) < len(before)}
        expect.equal(
            found["left"], found["before"], f"the caller's dict after loading (case: {case})", suspects=emptied
        )
    all_shared(loads(tree, "read only")["read only"], "read only")


def test_inner_calls(tree):
    """A nested call takes what is its own out of the dict it is given, and leaves the rest without complaint"""
    for case, found in loads(tree, "inner", "inner list").items():
        start = "layers.1.up." if case == "inner" else "layers."
        rest = [name for name in found["before"] if not name.startswith(start)]
        copied = {"nested-calls-copy-the-dict": found["before"]}
        expect.equal(found["left"], rest, f"what a nested call leaves in its dict (case: {case})", suspects=copied)
        all_shared(found, case, start)


def test_missing(tree):
    """A missing weight is a KeyError that names it by its full path"""
    missing = {"missing": "layers.7.down.weight", "missing bias": "layers.3.up.bias"}
    got = tree.run(load, cases=list(missing))
    for case, name in missing.items():
        passed = "missing-weights-passed-over" if got[case]["outcome"] == DONE else None
        expect.raised(got[case]["outcome"], "KeyError", name, f"a dict without {name}", mistake=passed)


def test_unfit(tree):
    """A weight of another shape or dtype is a ValueError that names it"""
    unfit = {"shape": "layers.2.up.weight", "broadcast": "layers.2.up.weight", "dtype": "layers.10.down.weight"}
    got = tree.run(load, cases=list(unfit))
    unchecked = all(found["outcome"] == DONE for found in got.values())
    for case, name in unfit.items():
        what = f"a weight of the wrong {'dtype' if case == 'dtype' else 'shape'}"
        expect.raised(got[case]["outcome"], "ValueError", name, what, mistake="fit-not-checked" if unchecked else None)


def test_leftovers(tree):
    """Weights that no layer asks for are a RuntimeError that lists all their names"""
    cases = {
        "extra": ["lm_head.weight", "layers.11.up.weight"],
        "list extra": ["embed.weight", "head.weight", "scale"],
        "bias without a place": ["layers.0.down.bias"],
        "private": ["layers.0._private.weight"],
        "stateless": ["layers.0.free.norm.weight"],
    }
    got = tree.run(load, cases=list(cases))
    ignored = all(found["outcome"] == DONE for found in got.values())
    for case, names in cases.items():
        for name in names:
            what = f"a dict with {' and '.join(names)} in it"
            expect.raised(
                got[case]["outcome"], "RuntimeError", name, what, mistake="leftovers-ignored" if ignored else None
            )
