# /// wrong
# mistake = "nested-calls-copy-the-dict"
# ///
class BaseOP:
    def state_dict(self, prefix="", result=None):
        if result is None:
            result = dict()
        dot = "." if prefix else ""
        for key in vars(self):
            if key[0] == "_":
                continue
            value, full = vars(self)[key], prefix + dot + key
            if isinstance(value, BaseOP):
                value.state_dict(full, result)
            elif torch.is_tensor(value):
                result[full] = value
        return result

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        pool = {name: weight for name, weight in state_dict.items()}
        dot = "." if prefix else ""
        for key in list(vars(self)):
            value, full = vars(self)[key], prefix + dot + key
            if key[0] == "_":
                continue
            if isinstance(value, BaseOP):
                value.load_state_dict(pool, full, _internal=True)
            elif torch.is_tensor(value):
                self.__dict__[key] = take_weight(pool, full, value)
        if not _internal and len(pool) > 0:
            raise RuntimeError("weights without a layer: " + ", ".join(pool))


class OPList:
    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        pool = {name: weight for name, weight in state_dict.items()}
        for number in range(len(self.op_list)):
            self.op_list[number].load_state_dict(pool, f"{prefix}.{number}" if prefix else f"{number}", _internal=True)
        if not _internal and len(pool) > 0:
            raise RuntimeError("weights without a layer: " + ", ".join(pool))
