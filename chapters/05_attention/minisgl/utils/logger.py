"""Log lines that say which rank wrote them."""

from __future__ import annotations

import logging
import os

from minisgl.distributed import current_tp_info


class RankLogger(logging.LoggerAdapter):
    """A logger that puts the tensor-parallel rank before the message, where there is more than one rank."""

    def process(self, msg: str, kwargs: dict) -> tuple[str, dict]:
        info = current_tp_info()
        return (f"[TP {info.rank}] {msg}" if info.size > 1 else msg), kwargs

    def info_rank0(self, msg: str, *args: object) -> None:
        """Log on rank 0 only: for facts that are the same on every rank."""
        if current_tp_info().is_primary:
            self.info(msg, *args)

    def warning_rank0(self, msg: str, *args: object) -> None:
        """Warn on rank 0 only."""
        if current_tp_info().is_primary:
            self.warning(msg, *args)


def init_logger(name: str) -> RankLogger:
    """The logger of a module, writing to stderr.

    The environment variable LOG_LEVEL (DEBUG, INFO, WARNING, ERROR; default INFO) sets its level.
    ValueError if LOG_LEVEL is none of these.
    """
    level = os.environ.get("LOG_LEVEL", "INFO").upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError(f"LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, got {level!r}")

    logger = logging.getLogger(name)
    logger.setLevel(level)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
        logger.addHandler(handler)
        logger.propagate = False
    return RankLogger(logger, {})
