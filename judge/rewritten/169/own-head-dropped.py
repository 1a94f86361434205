# /// wrong
# mistake = "own-head-dropped"
# ///
def load_model(model_path, config, device, dtype):
    set_rope_device(device)
    with torch.device("meta"), torch_dtype(dtype):
        net = create_model(config)
    state = {}
    for name, tensor in load_weight(model_path, device):
        if config.tie_word_embeddings and name.startswith("lm_head"):
            continue
        state[name] = tensor.to(dtype)
        del tensor
    net.load_state_dict(state)
    return net
