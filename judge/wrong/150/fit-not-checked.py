# /// wrong
# says = "A weight of another shape or dtype is taken over as it is; the layer should refuse it with a ValueError that names it."
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                setattr(self, name, remaining.pop(_join(prefix, name)))
            elif isinstance(member, BaseOP):
                member.load_state_dict(remaining, _join(prefix, name), _internal=True)
        if remaining and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(remaining))}")
