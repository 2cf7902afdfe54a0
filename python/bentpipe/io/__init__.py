"""Files and directories that appear complete or not at all, and files from elsewhere.

- `files`: writing, locks, and the names of temporary files
- `foreign`, `kinds`: files from other programs, within bounds, and what their content says that they are
- `toml_tables`: data of a module in a TOML file beside it
- `caches`: values that were computed before, in the user's cache
"""
