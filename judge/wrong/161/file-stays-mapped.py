# /// wrong
# says = "Your code maps the whole file and keeps the mapping until the end. Pages that were read count as the process's memory, so at the end the file and the weights are both there."
# ///
def load_weight(model_path, device):
    import numpy

    folder = download_hf_weight(model_path)
    tp = current_tp_info()
    num_kv_heads = read_num_kv_heads(folder) if tp.size > 1 else 0
    tensors = [tensor for file in checkpoint_files(folder) for tensor in read_header(file)]
    maps = {file: numpy.memmap(file, dtype=numpy.uint8, mode="r") for file in checkpoint_files(folder)}
    for name, parts in plan_weights(tensors).items():
        for _, tensor in parts:
            size = math.prod(tensor.shape) * tensor.dtype.itemsize
            maps[tensor.file][tensor.offset : tensor.offset + size].sum()
        yield name, read_weight(parts, tp, num_kv_heads).to(device)
