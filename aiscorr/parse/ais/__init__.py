"""Logs and status answers of AIStore daemons to rows."""
