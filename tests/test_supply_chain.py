"""What Landfast is made of: pinned, reviewed, and written down."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "requirements"
NOWHERE = "http://127.0.0.1:9/"


def run(script: str, *arguments: str, folder: Path = LOCKS, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / script), *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LANDFAST_AUDIT_URL": NOWHERE, **environ},
    )


def pinned(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (LOCKS / f"{lock}.txt").read_text(), re.MULTILINE))


def test_what_builds_the_package_is_pinned_with_all_that_it_needs() -> None:
    """Otherwise the README's first command fails: pip takes nothing that has no hash."""
    names = {re.sub(r"[-_.]+", "-", name).lower() for name in pinned("build")}
    needed = {
        re.sub(r"[-_.]+", "-", match[0]).lower()
        for name in pinned("build")
        for line in requires(name) or ()
        if ";" not in line and (match := re.match(r"[\w.-]+", line))
    }
    assert needed and needed <= names


def test_a_bill_of_materials_holds_what_cyclonedx_asks_for_and_all_that_is_pinned(tmp_path: Path) -> None:
    made = run("sbom.py", str(tmp_path / "a.json"))
    assert made.returncode == 0, made.stderr
    bill: dict[str, Any] = json.loads((tmp_path / "a.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    parts = bill["components"]
    assert {part["name"]: part["version"] for part in parts} == pinned("runtime") | pinned("extras")
    assert {part["name"] for part in parts if part["scope"] == "optional"} == set(pinned("extras"))
    for part in parts:
        assert part["type"] == "library"
        assert part["purl"] == part["bom-ref"] == f"pkg:pypi/{part['name']}@{part['version']}"
        assert part["hashes"] and all(
            each["alg"] == "SHA-256" and re.fullmatch(r"[0-9a-f]{64}", each["content"]) for each in part["hashes"]
        )
    refs = {part["bom-ref"] for part in [bill["metadata"]["component"], *parts]}
    assert len(refs) == len(parts) + 1
    assert {each["ref"] for each in bill["dependencies"]} == refs
    needs = {each["ref"]: set(each["dependsOn"]) for each in bill["dependencies"]}
    assert set.union(*needs.values()) <= refs
    ours = {ref.split("/")[1].split("@")[0] for ref in needs[bill["metadata"]["component"]["bom-ref"]]}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert ours == {re.split(r"[^\w-]", each)[0] for each in declared}, "what others brought along is no need of ours"
    run("sbom.py", str(tmp_path / "b.json"))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes(), "the same locks, other bytes"


def test_the_audit_passes_without_a_network_and_says_so() -> None:
    done = run("audit.py")
    assert done.returncode == 0, done.stderr
    assert "no database of vulnerabilities was asked" in done.stdout


def test_the_audit_fails_for_a_version_or_a_hash_that_nobody_reviewed(tmp_path: Path) -> None:
    for file in LOCKS.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    lock = tmp_path / "runtime.txt"
    text = lock.read_text()
    lock.write_text(text.replace("click==", "click==99."))
    done = run("audit.py", folder=tmp_path)
    assert done.returncode == 1 and "click==99." in done.stderr and "was not reviewed" in done.stderr
    at = text.index("--hash=sha256:", text.index("click==")) + len("--hash=sha256:")
    lock.write_text(text[:at] + "0" * 64 + text[at + 64 :])
    assert "click==" in run("audit.py", folder=tmp_path).stderr


def test_the_audit_fails_for_what_the_database_knows() -> None:
    with database({"click": "PYSEC-2026-1"}) as address:
        done = run("audit.py", LANDFAST_AUDIT_URL=address)
    assert done.returncode == 1 and "click==" in done.stderr and "PYSEC-2026-1" in done.stderr
    with database({}) as address:
        assert run("audit.py", LANDFAST_AUDIT_URL=address).returncode == 0


@contextmanager
def database(known: dict[str, str]) -> Iterator[str]:
    """One that answers as OSV does."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            names = [query["package"]["name"] for query in asked]
            results = [{"vulns": [{"id": known[name]}]} if name in known else {} for name in names]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"results": results}).encode())

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_line_of_every_lock_has_hashes() -> None:
    for lock in LOCKS.glob("*.txt"):
        if lock.name != "reviewed.txt":
            blocks = re.split(r"(?m)^(?=\S)", lock.read_text())
            assert [block[:40] for block in blocks if block.strip() and "--hash=sha256:" not in block] == [], lock.name


def test_the_package_is_built_with_what_is_pinned_and_nothing_else(tmp_path: Path) -> None:
    """Without an index and without isolation, as the Dockerfile does: here with the same versions."""
    for name, wanted in pinned("build").items():
        assert version(name) == wanted, f"{name} is not the one that build.txt pins"
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert set(needed) <= pinned("build").keys()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    built = subprocess.run(
        [*command, "--wheel-dir", str(tmp_path), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    assert [file.suffix for file in tmp_path.iterdir()] == [".whl"]


def test_nothing_is_installed_without_a_hash_in_what_we_tell_people_to_run() -> None:
    for page in ("README.md", "docs/howto/deploy.md", "deploy/Dockerfile", "Makefile"):
        for line in (ROOT / page).read_text().replace("\\\n", " ").splitlines():
            if "pip install" in line:
                assert "--require-hashes" in line or "--no-deps" in line, f"{page}: {line.strip()}"
