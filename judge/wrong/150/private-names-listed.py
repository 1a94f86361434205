# /// wrong
# says = "Attributes whose names begin with an underscore are listed as weights too; they are private, and no checkpoint holds them."
# ///
class BaseOP:
    def state_dict(self, prefix="", result=None):
        result = {} if result is None else result
        for name, member in self.__dict__.items():
            if isinstance(member, torch.Tensor):
                result[_join(prefix, name)] = member
            elif isinstance(member, BaseOP):
                member.state_dict(_join(prefix, name), result)
        return result

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for name, member in self.__dict__.items():
            if isinstance(member, torch.Tensor):
                setattr(self, name, take_weight(remaining, _join(prefix, name), like=member))
            elif isinstance(member, BaseOP):
                member.load_state_dict(remaining, _join(prefix, name), _internal=True)
        if remaining and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(remaining))}")
