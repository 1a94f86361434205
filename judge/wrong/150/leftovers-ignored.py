# /// wrong
# says = "Weights that no layer asks for are passed over in silence; they mean that model and checkpoint do not fit, so name them in a RuntimeError."
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


class OPList:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for i, op in enumerate(self.op_list):
            op.load_state_dict(remaining, _join(prefix, str(i)), _internal=True)
