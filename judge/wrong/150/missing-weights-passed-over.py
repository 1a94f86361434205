# /// wrong
# says = "A weight that the checkpoint lacks is passed over, and the layer computes with whatever its memory held; it should be a KeyError with the weight's name."
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                if _join(prefix, name) in remaining:
                    setattr(self, name, take_weight(remaining, _join(prefix, name), like=member))
            elif isinstance(member, BaseOP):
                member.load_state_dict(remaining, _join(prefix, name), _internal=True)
        if remaining and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(remaining))}")
