"""Flows of many runs as figures and reports count them: each once; and the keys that choose algorithms."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from bentpipe.result import PARTS

CLASH = {"cc": "key.cc"}
"""A key that is called like a column of the flows, and its name beside that column."""


def counted(flows: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Each flow once, as `result.each_once` has it, and the names of the keys.

    `cc` is the id of its algorithm, `position` its place among the flows of its run.
    """
    name, own = (f"result_{of}" if f"result_{of}" in flows.columns else of for of in ("name", "cc"))
    text = pl.col(own).cast(pl.String) if own in flows.columns else pl.lit("")
    clash = CLASH if "cc" in keys else {}
    flows = flows.rename(clash).with_columns(text.alias("cc")) if clash else flows.with_columns(cc=text)
    if "half" in flows.columns:
        part = pl.col("half").cast(pl.String).fill_null("").is_in(PARTS)
        there = pl.col(name).cast(pl.String).str.ends_with("/there") if name in flows.columns else False
        flows = flows.filter(part.not_() | there)
    flows = flows.with_columns(position=pl.int_range(pl.len()).over("run"))
    return flows, [clash.get(key, key) for key in keys]


def controlled() -> pl.Expr:
    """Whether a flow has a controller: traffic of a constant rate has none. True if no flow has one."""
    has = pl.col("cc").ne_missing("cbr")
    return has | has.any().not_()


def chosen(key: str) -> pl.Expr:
    """Whether a key chooses a flow's algorithm: at the places whose algorithm follows it in all runs.

    Runs of other numbers of flows have other places. A key that chooses none is taken to choose all.
    """
    # A value is "cubic", "simd beta=0.06", "my.py:Mine" or a table.
    value = pl.col(key).cast(pl.String).fill_null("-").str.to_lowercase()
    own = pl.col("cc").fill_null("-").str.to_lowercase().str.replace("^python:", "")
    first = value.str.split(" ").list.first().str.split(":").list.last()
    table = value.str.starts_with("{") & value.str.contains(pl.concat_str(pl.lit('"'), own), literal=True)
    follows = ((first == own) | table).all().over("position", pl.len().over("run"))
    return pl.when(follows.any()).then(follows).otherwise(statement=True)
