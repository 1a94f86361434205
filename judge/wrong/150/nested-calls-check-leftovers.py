# /// wrong
# says = "A nested layer complains about weights that belong to its neighbours; only the outermost call can know what is left over."
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                setattr(self, name, take_weight(remaining, _join(prefix, name), like=member))
            elif isinstance(member, BaseOP):
                member.load_state_dict(remaining, _join(prefix, name), _internal=True)
        if remaining:
            raise RuntimeError(f"no place for: {', '.join(sorted(remaining))}")
