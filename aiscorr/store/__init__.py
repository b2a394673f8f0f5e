"""The database: opened late, closed early, published whole."""
