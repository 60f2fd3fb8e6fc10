"""Exact values: dice games by backward induction, Corso by search."""
