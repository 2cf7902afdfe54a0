"""TCP-STAR against TCP-J, WestwoodBR and NewReno (figures 6 to 11 of the paper)."""
