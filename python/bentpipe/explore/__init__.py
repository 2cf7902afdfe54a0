"""A page on this machine with sliders for a link: the curves of several algorithms follow the hand.

`shown` has their values, runs them and gives charts and a table, `app` puts both on a page of marimo,
`server` serves it. docs/reports.md shows how it is used.
"""
