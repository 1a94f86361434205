# /// wrong
# says = "Loading takes the weights out of the caller's own dict; the outermost call should work on a shallow copy of it."
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                setattr(self, name, take_weight(state_dict, _join(prefix, name), like=member))
            elif isinstance(member, BaseOP):
                member.load_state_dict(state_dict, _join(prefix, name), _internal=True)
        if state_dict and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(state_dict))}")
