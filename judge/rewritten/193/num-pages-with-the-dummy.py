# /// wrong
# mistake = "num-pages-with-the-dummy"
# ///
class Engine:
    def _initialize(self):
        self._bring_up_process()
        first = self._agree(get_free_memory(self.device))
        self.model = self._load_model()
        second = self._agree(get_free_memory(self.device))
        self._bring_up_memory(first, second)
        self._bring_up_rest(first)

    def _bring_up_process(self):
        c = self.config
        set_tp_info(c.tp_info.rank, c.tp_info.size)
        self.device = pick_device(c.device, c.tp_info.rank)
        self.dtype = c.model_dtype
        self._set_cpu_threads()
        torch.manual_seed(c.seed)
        self.stream = create_stream(self.device)
        set_stream(self.stream)
        self.ctx = Context(c.page_size)
        set_global_ctx(self.ctx)
        self._init_communication()

    def _bring_up_memory(self, first, second):
        c = self.config
        size = kv_bytes_per_page(c.model_config, c.page_size, self.dtype, c.tp_info.size)
        self.num_pages = self._determine_num_pages(size, first, second) + 1
        self.kv_cache = create_kvcache_pool(c.model_config, self.num_pages, c.page_size, self.dtype, self.device)
        self.page_table = torch.zeros(
            [c.max_running_req + 1, align_ceil(c.max_seq_len, 32)], dtype=torch.int32, device=self.device
        )
        self.ctx.kv_cache, self.ctx.page_table = self.kv_cache, self.page_table

    def _bring_up_rest(self, first):
        c, m = self.config, self.config.model_config
        self.attn_backend = create_attention_backend(c.attention_backend, m)
        moe = create_moe_backend(c.moe_backend, self.device) if m.is_moe else None
        self.ctx.attn_backend, self.ctx.moe_backend = self.attn_backend, moe
        self.sampler = Sampler(self.device, m.vocab_size, c.seed)
        self.dummy_req = Req(torch.zeros(1, dtype=torch.int32), c.max_running_req, 0, 1, -1, SamplingParams())
        self.page_table[-1].fill_((self.num_pages - 1) * c.page_size)
        self.graph_runner = GraphRunner(
            stream=self.stream, device=self.device, model=self.model, attn_backend=self.attn_backend, moe_backend=moe,
            is_moe=m.is_moe, cuda_graph_bs=c.cuda_graph_bs, cuda_graph_max_bs=c.cuda_graph_max_bs, free_memory=first,
            max_seq_len=self.page_table.shape[1], vocab_size=m.vocab_size, dtype=self.dtype, dummy_req=self.dummy_req,
        )
