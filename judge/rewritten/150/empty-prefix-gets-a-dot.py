# /// wrong
# mistake = "empty-prefix-gets-a-dot"
# ///
class BaseOP:
    def _public(self):
        return [(name, value) for name, value in vars(self).items() if not name.startswith("_")]

    def state_dict(self, prefix="", result=None):
        out = result if result is not None else {}
        for name, value in self._public():
            path = prefix + "." + name
            if isinstance(value, torch.Tensor):
                out[path] = value
            if isinstance(value, BaseOP):
                value.state_dict(path, out)
        return out

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        if not _internal:
            state_dict = dict(state_dict)
        for name, value in self._public():
            path = prefix + "." + name
            if isinstance(value, torch.Tensor):
                setattr(self, name, take_weight(state_dict, path, value))
            if isinstance(value, BaseOP):
                value.load_state_dict(state_dict, path, _internal=True)
        if not _internal:
            unused = sorted(state_dict)
            if unused:
                raise RuntimeError("nobody wants " + ", ".join(unused))


class OPList:
    def state_dict(self, prefix="", result=None):
        out = result if result is not None else {}
        for i in range(len(self.op_list)):
            self.op_list[i].state_dict(prefix + "." + str(i), out)
        return out

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        if not _internal:
            state_dict = dict(state_dict)
        for i in range(len(self.op_list)):
            self.op_list[i].load_state_dict(state_dict, prefix + "." + str(i), _internal=True)
        if not _internal:
            unused = sorted(state_dict)
            if unused:
                raise RuntimeError("nobody wants " + ", ".join(unused))
