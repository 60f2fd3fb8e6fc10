"""Matches, tournaments, ratings, reports."""
