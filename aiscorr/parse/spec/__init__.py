"""The TOML files of patterns and formats, read and checked."""
