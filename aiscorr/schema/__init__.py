"""The stored tables: columns, types, units."""
