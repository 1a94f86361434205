"""Deciding which request gets which row, page and step. So far: the rows."""

from .table import TableManager, page_slots

__all__ = ["TableManager", "page_slots"]
