# /// wrong
# says = "Your layers copy the weights into their own tensors; they should keep the very tensors of the dict, or a model needs twice its memory while it loads."
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                setattr(self, name, take_weight(remaining, _join(prefix, name), like=member).clone())
            elif isinstance(member, BaseOP):
                member.load_state_dict(remaining, _join(prefix, name), _internal=True)
        if remaining and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(remaining))}")
