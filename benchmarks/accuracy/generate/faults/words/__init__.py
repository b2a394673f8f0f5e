"""What several parts share: what programs print, turns that a fault takes, noise beside it."""
