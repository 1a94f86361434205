# /// wrong
# says = "The members of your OPList are named op_list.0, op_list.1, ...; in a checkpoint the index follows the list's own name directly."
# ///
class OPList:
    def state_dict(self, prefix="", result=None):
        result = {} if result is None else result
        for i, op in enumerate(self.op_list):
            op.state_dict(_join(_join(prefix, "op_list"), str(i)), result)
        return result

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        remaining = state_dict if _internal else dict(state_dict)
        for i, op in enumerate(self.op_list):
            op.load_state_dict(remaining, _join(_join(prefix, "op_list"), str(i)), _internal=True)
        if remaining and not _internal:
            raise RuntimeError(f"no place for: {', '.join(sorted(remaining))}")
