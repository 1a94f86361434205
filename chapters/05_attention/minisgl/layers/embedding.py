"""From token ids to vectors, and from vectors to logits. Both weights are split over the ranks by rows."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F

from minisgl.core import get_global_ctx
from minisgl.distributed import DistributedCommunicator, current_tp_info
from minisgl.kernel import indexing
from minisgl.utils.misc import div_ceil

from .base import BaseOP, take_weight


class VocabParallelEmbedding(BaseOP):
    """The embedding table. Each rank has ceil(V / size) rows; the last ranks' may end in padding.

    vocab_range: (first id, number of ids) that this rank's rows stand for, padding not counted.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        tp = current_tp_info()
        rows = div_ceil(num_embeddings, tp.size)
        start = min(tp.rank * rows, num_embeddings)
        self.weight = torch.empty(rows, embedding_dim)
        self.vocab_range = (start, min(rows, num_embeddings - start))
        self._tp_size = tp.size
        self._comm = DistributedCommunicator()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids: int [T] -> [T, D], the same on every rank.

        A single rank looks the rows up. Of several, each gives zeros for the ids outside its vocab_range (see
        kernel.indexing), and the sum over the ranks is the result.
        """
        if self._tp_size == 1:
            return indexing(self.weight, ids)
        return self._comm.all_reduce(indexing(self.weight, ids, self.vocab_range))


class ParallelLMHead(BaseOP):
    """The projection to the vocabulary, for the last token of each request: nobody samples from the others.

    tied_embedding: the embedding whose weight is used (tie_word_embeddings), or None for a weight of its own,
    [ceil(V / size), D]. A tied head lists no weight.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, tied_embedding: VocabParallelEmbedding | None = None
    ) -> None:
        tp = current_tp_info()
        self.weight = None
        if tied_embedding is None:
            self.weight = torch.empty(div_ceil(num_embeddings, tp.size), embedding_dim)
        self._tied_embedding = tied_embedding
        self._vocab_size = num_embeddings
        self._tp_size = tp.size
        self._comm = DistributedCommunicator()

    def load_state_dict(
        self, state_dict: Mapping[str, torch.Tensor], prefix: str = "", *, _internal: bool = False
    ) -> None:
        """Load the head's own weight, or settle that there is none. Called after the embedding has its weight.

        Not tied: as in BaseOP, but the KeyError also says that the config does not tie the head to the embedding.
        Tied: no weight is needed. If the checkpoint has one, it is taken out of the dict, and is used if and only if it
        differs from the embedding: then the config is wrong about the file, and Hugging Face decides like this too.
        """
        name = f"{prefix}.weight" if prefix else "weight"
        if self._tied_embedding is None:
            if name not in state_dict:
                raise KeyError(f"weight {name} is missing from the checkpoint, and the config does not tie it")
            super().load_state_dict(state_dict, prefix, _internal=_internal)
        elif name in state_dict:
            embedding = self._tied_embedding.weight
            remaining = state_dict if _internal else dict(state_dict)
            weight = take_weight(remaining, name, like=embedding)
            self.weight = None if torch.equal(weight, embedding) else weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [T, D], one row per token of the active batch -> logits [padded batch size, V], same on every rank.

        In prefill a request has several rows: only the last one of each goes on, at the indices that
        batch.attn_metadata.get_last_indices(batch.size) gives. In decode every row is a last one.
        The weight is the head's own if it has one, else the tied embedding's. Each rank computes the logits of its rows
        of the weight; gather_vocab makes them whole.
        """
        batch = get_global_ctx().batch
        if batch.is_prefill:
            x = x[batch.attn_metadata.get_last_indices(batch.size)]

        weight = self._tied_embedding.weight if self.weight is None else self.weight
        return self.gather_vocab(F.linear(x, weight))

    def gather_vocab(self, logits: torch.Tensor) -> torch.Tensor:
        """This rank's [B, ceil(V / size)] -> [B, V] on every rank: a request's logits in the order of the ids.

        A single rank has them all. Of several, the columns that stand for padding are cut off.
        """
        if self._tp_size == 1:
            return logits
        # The ranks' results come one below the other, [size * B, rows]; a request's logits must stand side by side.
        shards = self._comm.all_gather(logits).view(self._tp_size, *logits.shape)
        return shards.transpose(0, 1).flatten(1)[:, : self._vocab_size]
