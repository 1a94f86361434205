# /// wrong
# says = "Only the sum of the parts is divided by the number of ranks; each part must divide, or a rank would get rows of its neighbour."
# ///
class LinearColParallelMerged:
    def __init__(self, in_features, out_features, has_bias=False):
        super().__init__(in_features, div_even(sum(out_features), current_tp_info().size), has_bias)
