"""Contests with peers: each suite measures Podium and every peer that is installed, and keeps what it found."""
