"""Links that are drawn for each run: a model of an access link, and the recipe of a draw from it."""
