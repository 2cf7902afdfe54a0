"""The command line.

- `application`: the list of verbs, and those on scenarios
- `verbs`, `completion`: what verbs share: exit statuses, options, answers; names that a shell may offer
- `tables`: tables of results
- `entries`, `bdp`, `doctor`: the lists of what there is, the window of a link, the check of this machine
"""
