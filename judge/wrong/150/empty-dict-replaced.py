# /// wrong
# says = "An empty dict that the caller gives stays empty: your code takes it for no dict, because an empty dict counts as false, and fills a new one."
# ///
class BaseOP:
    def state_dict(self, prefix="", result=None):
        result = result or {}
        for name, member in self.__dict__.items():
            if name.startswith("_"):
                continue
            if isinstance(member, torch.Tensor):
                result[_join(prefix, name)] = member
            elif isinstance(member, BaseOP):
                result.update(member.state_dict(_join(prefix, name)))
        return result
