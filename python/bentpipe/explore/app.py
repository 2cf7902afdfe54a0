# /// script
# dependencies = ["bentpipe", "marimo"]
#
# [tool.marimo.display]
# theme = "system"
# ///
"""The page of `bentpipe explore`, as a notebook of marimo."""

import marimo

app = marimo.App(width="full", app_title="bentpipe explore")


@app.cell
def _imports():  # type: ignore[no-untyped-def]
    from html import escape
    from pathlib import Path

    import marimo as mo

    from bentpipe import registry
    from bentpipe.explore import shown as of

    return Path, escape, mo, of, registry


@app.cell
def _controls(mo, of, registry):  # type: ignore[no-untyped-def]
    usual = of.Setting()

    def slider(values: tuple[float, ...], value: float, label: str) -> object:
        return mo.ui.slider(steps=values, value=value, label=label, show_value=True, full_width=True)

    known = {entry["label"]: entry["id"] for entry in registry.controllers()}
    chosen = [label for label, cc in known.items() if cc in usual.algorithms]
    algorithms = mo.ui.multiselect(known, value=chosen, label="Algorithms", max_selections=8, full_width=True)
    rate = slider(of.RATES, usual.rate_mbps, "Rate, Mbit/s")
    rtt = slider(of.RTTS, usual.rtt_ms, "RTT, ms")
    loss = slider(of.LOSSES, usual.loss_percent, "Packet loss, %")
    buffer = slider(of.BUFFERS, usual.buffer_bdp, "Buffer, BDP")
    duration = slider(of.DURATIONS, usual.duration_s, "Duration, s")
    seed = slider(tuple(range(1, 21)), usual.seed, "Seed")
    together = mo.ui.switch(label="All on the link at once")
    return algorithms, buffer, duration, loss, rate, rtt, seed, together


@app.cell
def _page(Path, algorithms, buffer, duration, escape, loss, mo, of, rate, rtt, seed, together):  # type: ignore[no-untyped-def]
    link = [rate, rtt, loss, buffer] if of.given is None else []
    controls = [*link, algorithms, together, duration, seed]
    name = "A link" if of.given is None else escape(Path(of.given).stem)
    mo.Html(
        f'<div class="bentpipe explore"><aside><h1>{name} and its algorithms</h1>'
        + "".join(f"<div>{control}</div>" for control in controls)
        + f"</aside><main>{of.frame()}</main></div>"
    )
    return


@app.cell
def _data(algorithms, buffer, duration, loss, mo, of, rate, rtt, seed, together):  # type: ignore[no-untyped-def]
    _values = [one.value for one in (rate, rtt, loss, buffer, algorithms, together, duration)]
    setting = of.Setting(*_values, int(seed.value), of.given)
    data = of.shown(setting)
    mo.Html(data)
    return data, setting


if __name__ == "__main__":
    app.run()
