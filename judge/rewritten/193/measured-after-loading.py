# /// wrong
# mistake = "measured-after-loading"
# ///
class Engine:
    def _initialize(self):
        c = self.config
        m = c.model_config
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

        self.model = self._load_model()
        free = [self._agree(get_free_memory(self.device)) for _ in range(2)]
        size = kv_bytes_per_page(m, c.page_size, self.dtype, c.tp_info.size)
        self.num_pages = self._determine_num_pages(size, free[0], free[1])
        self.kv_cache = create_kvcache_pool(m, self.num_pages + 1, c.page_size, self.dtype, self.device)
        columns = align_ceil(c.max_seq_len, 32)
        self.page_table = torch.full((c.max_running_req + 1, columns), 0, dtype=torch.int32, device=self.device)
        self.attn_backend = create_attention_backend(c.attention_backend, m)
        self.ctx.kv_cache = self.kv_cache
        self.ctx.page_table = self.page_table
        self.ctx.attn_backend = self.attn_backend
        self.ctx.moe_backend = create_moe_backend(c.moe_backend, self.device) if m.is_moe else None
        self.sampler = Sampler(self.device, m.vocab_size, c.seed)
        self.dummy_req = Req(torch.zeros(1, dtype=torch.int32), c.max_running_req, 0, 1, -1, SamplingParams())
        self.page_table[c.max_running_req, :] = c.page_size * self.num_pages
        self.graph_runner = GraphRunner(
            stream=self.stream, device=self.device, model=self.model, attn_backend=self.attn_backend,
            moe_backend=self.ctx.moe_backend, is_moe=m.is_moe, cuda_graph_bs=c.cuda_graph_bs,
            cuda_graph_max_bs=c.cuda_graph_max_bs, free_memory=free[0], max_seq_len=columns,
            vocab_size=m.vocab_size, dtype=self.dtype, dummy_req=self.dummy_req,
        )
