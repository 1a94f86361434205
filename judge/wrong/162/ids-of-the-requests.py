# /// wrong
# says = "Your model reads the tokens out of the requests. It should run batch.input_ids: the newest tokens may not have reached the host yet."
# ///
class CausalLM:
    def forward(self) -> torch.Tensor:
        return self.lm_head.forward(self.model.forward(torch.cat([req.input_ids for req in get_global_ctx().batch.reqs])))
