"""Generala and its family: dice games of rolling, keeping and scoring, described as data."""
