"""Django takes psycopg 3 where it is installed. The same tests in a process that has only psycopg2."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT

import pytest

from tests.docs.blocks import ROOT

SAME = ("tests/ledgers/test_django_abuse.py", "tests/ledgers/test_django_own.py")


@pytest.mark.long
async def test_a_handler_can_do_no_more_with_psycopg2() -> None:
    command = (sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-k", "not sqlite", *SAME)
    env = os.environ | {"TEST_WITH_PSYCOPG2": "1"}
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=env, stdout=PIPE, stderr=STDOUT)
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
