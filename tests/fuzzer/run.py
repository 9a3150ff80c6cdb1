"""Runs mcp-fuzzer with a larger line limit on stdio; all arguments are mcp-fuzzer's own."""

import asyncio
import functools
import sys

LINE_LIMIT = 16 * 1024 * 1024

# The fuzzer imports the module, so it finds this one.
asyncio.create_subprocess_exec = functools.partial(asyncio.create_subprocess_exec, limit=LINE_LIMIT)

from mcp_fuzzer.__main__ import run  # noqa: E402

sys.exit(run())
