# /// wrong
# mistake = "leftovers-ignored"
# ///
class BaseOP:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        available = state_dict
        if not _internal:
            available = dict(state_dict)
        members = [(n, m) for n, m in self.__dict__.items() if n[:1] != "_"]
        for n, m in members:
            path = _join(prefix, n)
            if isinstance(m, BaseOP):
                m.load_state_dict(available, prefix=path, _internal=True)
            if isinstance(m, torch.Tensor):
                self.__dict__[n] = take_weight(available, path, m)


class OPList:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        available = state_dict
        if not _internal:
            available = dict(state_dict)
        for position in range(len(self.op_list)):
            path = _join(prefix, str(position))
            self.op_list[position].load_state_dict(available, prefix=path, _internal=True)
