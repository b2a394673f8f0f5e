"""A lake in the place of the database file: DuckLake tables, their catalogue in PostgreSQL, rows as Parquet anywhere.

Incidents are small and a lake is large, so nothing is judged or asked in the lake. Its rows around an incident are
pulled into a database file of their own, and everything else works on that, as it does without a lake.
"""
