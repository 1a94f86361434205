# /// wrong
# mistake = "only-the-sum-divided"
# ///
class LinearColParallelMerged:
    def __init__(self, in_features, out_features, has_bias=False):
        rows = 0
        for part in out_features:
            rows += part
        _LinearTP.__init__(self, in_features, div_even(rows, current_tp_info().size), has_bias)
