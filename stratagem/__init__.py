"""Train, solve, rate, serve and explain players of strategy games."""

__version__ = "0.1.0"
