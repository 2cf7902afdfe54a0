"""A page on this machine with sliders for a link: the curves of several algorithms follow the hand.

`setting` is their values, `shown` runs it and gives charts and a table, `app` puts both on a page of
marimo, `server` serves it. docs/reports.md shows how it is used.
"""
