# /// wrong
# says = "Every nested call works on its own copy of the dict, so nobody knows which weights were taken; all calls but the outermost should take theirs out of the dict they are given."
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = dict(state_dict)
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                setattr(self, name, take_weight(remaining, _join(prefix, name), like=member))
            elif isinstance(member, BaseOP):
                member.load_state_dict(remaining, _join(prefix, name), _internal=True)
        unknown = set(remaining) - set(self.state_dict(prefix))
        if unknown and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(unknown))}")


class OPList:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = dict(state_dict)
        for i, op in enumerate(self.op_list):
            op.load_state_dict(remaining, _join(prefix, str(i)), _internal=True)
        unknown = set(remaining) - set(self.state_dict(prefix))
        if unknown and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(unknown))}")
