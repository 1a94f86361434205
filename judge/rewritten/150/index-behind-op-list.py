# /// wrong
# mistake = "index-behind-op-list"
# ///
class OPList:
    def state_dict(self, prefix="", result=None):
        found = {} if result is None else result
        number = 0
        while number < len(self.op_list):
            self.op_list[number].state_dict(_join(_join(prefix, "op_list"), f"{number}"), found)
            number += 1
        return found

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        own = state_dict
        if not _internal:
            own = dict(state_dict.items())
        for number, member in zip(range(len(self.op_list)), self.op_list, strict=True):
            member.load_state_dict(own, _join(_join(prefix, "op_list"), f"{number}"), _internal=True)
        if not _internal and own:
            raise RuntimeError(f"left over: {sorted(own.keys())}")
