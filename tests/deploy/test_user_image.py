"""deploy/user/Dockerfile, read: there is no Docker here. test_packaging.py does what its RUN lines say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from landfast.domain.delivery import Head, Headers
from landfast.domain.readiness import Readiness
from landfast.web.health import vital_sign
from tests.deploy.test_deploy import DEPLOY, ROOT, must_parse

TEXT = (DEPLOY / "user/Dockerfile").read_text()
LINES = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def of(word: str) -> list[str]:
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{word} ")]


def test_it_is_made_of_instructions_in_an_order_that_keeps_caches_and_drops_rights() -> None:
    words = [line.partition(" ")[0] for line in LINES]
    assert set(words) <= INSTRUCTIONS and words[0] == "FROM" and words.count("FROM") == 2
    assert TEXT.index("COPY requirements.txt") < TEXT.index("COPY wheels") < TEXT.index("COPY . ."), "handlers last"
    assert of("USER") == ["shop"] and words.index("USER") > max(at for at, word in enumerate(words) if word == "RUN")
    assert (json.loads(of("ENTRYPOINT")[0]), json.loads(of("CMD")[0])) == (["landfast"], ["serve"])
    must_parse(json.loads(of("CMD")[0]))
    assert not re.search(r"whsec|password|ENV \w*(SECRET|TOKEN)", TEXT, re.IGNORECASE)
    assert all("--require-hashes" in line or "--no-index" in line for line in of("RUN") if "pip install" in line)


def test_it_asks_after_its_health_where_an_intake_and_a_worker_answer() -> None:
    ((port, path),) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)'", TEXT)
    assert of("EXPOSE") == [port]
    assert vital_sign(Head("GET", path, "", Headers(()), None), Readiness) is not None
    worker = re.search(r"started as: (.+)", TEXT)
    assert worker is not None
    must_parse(worker[1].split())
    assert worker[1].endswith(port)


def test_what_it_copies_is_what_the_page_asks_for_and_no_secret() -> None:
    page = (ROOT / "docs/howto/deploy.md").read_text().partition("## An image of your own")[2].partition("\n## ")[0]
    copied = [line.split()[0] for line in of("COPY") if not line.startswith(("--from", "."))]
    assert copied == ["requirements.txt", "wheels"]
    assert all(f"`{name}" in page for name in copied)
    kept_out = (DEPLOY / "user/.dockerignore").read_text().split()
    assert {"secrets", ".env", ".git", ".venv", "*.db"} <= set(kept_out)
    assert not set(copied) & set(kept_out)


def test_the_users_folder_has_what_an_image_needs() -> None:
    assert {file.name for file in Path(DEPLOY / "user").iterdir()} == {"Dockerfile", ".dockerignore"}
