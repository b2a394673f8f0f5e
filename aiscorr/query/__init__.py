"""SQL for people: one statement, queries with a name, rows as text, the shell."""
