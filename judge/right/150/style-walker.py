import collections.abc


def _members(op):
    """(name, member) of what counts: a generator over copies, so that attributes may be replaced on the way."""
    yield from ((n, m) for n, m in tuple(vars(op).items()) if n[0] != "_" and isinstance(m, (torch.Tensor, BaseOP)))


def _absorb(pairs, owner, state_dict, prefix, internal):
    pool = state_dict
    if not internal:
        pool = {}
        pool.update(state_dict)
    for key, member in pairs:
        path = ".".join(filter(None, (prefix, key)))
        if isinstance(member, BaseOP):
            member.load_state_dict(pool, prefix=path, _internal=True)
            continue
        if path not in pool:
            raise KeyError(path)
        new = pool.pop(path)
        if tuple(new.shape) != tuple(member.shape):
            raise ValueError(f"{path} has shape {tuple(new.shape)}")
        if new.dtype is not member.dtype:
            raise ValueError(f"{path} has dtype {new.dtype}")
        owner.__dict__[key] = new
    if not internal and len(pool) > 0:
        raise RuntimeError("nobody wants " + " ".join(pool))


class BaseOP:
    def state_dict(self, prefix="", result=None):
        found = {}
        for key, member in _members(self):
            path = ".".join(filter(None, (prefix, key)))
            found.update(member.state_dict(path) if isinstance(member, BaseOP) else {path: member})
        if result is None:
            return found
        result.update(found)
        return result

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        _absorb(_members(self), self, state_dict, prefix, _internal)


class OPList:
    def state_dict(self, prefix="", result=None):
        start = prefix + "." if prefix else ""
        result = result if isinstance(result, collections.abc.MutableMapping) else {}
        for i in range(len(self.op_list)):
            self.op_list[i].state_dict(prefix=f"{start}{i}", result=result)
        return result

    def load_state_dict(self, state_dict, prefix="", *, _internal=False):
        _absorb([(str(i), op) for i, op in enumerate(self.op_list)], None, state_dict, prefix, _internal)
