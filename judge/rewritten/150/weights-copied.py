# /// wrong
# mistake = "weights-copied"
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        rest = state_dict if _internal else {**state_dict}
        for attribute, value in list(vars(self).items()):
            if attribute.startswith("_"):
                continue
            full_name = _join(prefix, attribute)
            if isinstance(value, torch.Tensor):
                new = take_weight(rest, full_name, value)
                mine = torch.empty_like(new)
                mine.copy_(new)
                setattr(self, attribute, mine)
            elif isinstance(value, BaseOP):
                value.load_state_dict(rest, full_name, _internal=True)
        if not _internal and rest:
            raise RuntimeError("no layer has asked for " + " ".join(sorted(rest)))
