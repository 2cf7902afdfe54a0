"""A scenario as it is written: its keys, its values, and the place that it comes from.

- `schema`, `keys`: the JSON Schema of scenarios, and the classes that follow from it
- `source`: a file, a shipped name, a stored result or standard input
- `plain`: the parts of a scenario as plain tables
- `spans`, `relays`: values of a link and the relay of a flow, as options give them
"""
