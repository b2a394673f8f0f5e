"""`mcp`: failures, reports and queries as tools for an assistant that speaks the Model Context Protocol."""

from __future__ import annotations

import os
import sys

import click

from aiscorr.cli.context import Context


@click.command()
@click.pass_obj
def mcp(context: Context) -> int:
    """Answer an assistant's tool calls (Model Context Protocol) on stdin and stdout; extra 'mcp'.

    What a query may use is told by [serve.http] in aiscorr.toml, as for the HTTP server.
    """
    from aiscorr.serve.mcp import serve_tools
    from aiscorr.serve.reader import Reader
    from aiscorr.serve.web.settings import query_limits

    settings = context.settings
    try:
        serve_tools(Reader(settings, query_limits(settings.serve.get("http", {}), settings.config_path)))
    finally:
        if sys.stdout.closed:  # the library closes what it has talked over
            sys.stdout = os.fdopen(1, "w", closefd=False)
    return 0
