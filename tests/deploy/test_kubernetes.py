"""The manifests of deploy/kubernetes and the page about them: every name, port, path, command and option fits."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from landfast import Event, Inbox, Transaction
from landfast.processes.children.lifeline import GRACE_SECONDS
from landfast.processes.children.watchdog import MARGIN_SECONDS
from tests.deploy import plain_yaml
from tests.deploy.test_deploy import DEPLOY, ROOT, must_parse

FOLDER = DEPLOY / "kubernetes"
PAGE = (ROOT / "docs/howto/kubernetes.md").read_text()
KINDS = {
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Namespace": "v1",
    "Service": "v1",
    "Job": "batch/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "PodDisruptionBudget": "policy/v1",
    "Ingress": "networking.k8s.io/v1",
}
OF_A_CONTAINER = {
    *("name", "image", "args", "ports", "env", "envFrom", "startupProbe", "readinessProbe", "livenessProbe"),
    *("lifecycle", "resources", "securityContext", "volumeMounts"),
}
OF_A_POD = {
    *("restartPolicy", "automountServiceAccountToken", "terminationGracePeriodSeconds", "topologySpreadConstraints"),
    *("securityContext", "containers", "volumes"),
}
OF_A_PROBE = {"httpGet", "periodSeconds", "timeoutSeconds", "failureThreshold"}


def documents(*names: str) -> list[dict[str, Any]]:
    files = [FOLDER / name for name in names] or sorted(FOLDER.glob("*.yaml"))
    return [each for file in files for each in plain_yaml.read_all(file.read_text())]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for document in documents():
        if document["kind"] in {"Job", "Deployment", "StatefulSet"}:
            yield f"{document['kind']} {document['metadata']['name']}", document


PODS = dict(pods())


@pytest.fixture(params=PODS)
def owner(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PODS[request.param]


def container_of(owner: dict[str, Any]) -> dict[str, Any]:
    (container,) = owner["spec"]["template"]["spec"]["containers"]
    return dict(container)


def seconds(value: str) -> float:
    return float(value)


def test_each_document_is_of_a_kind_and_a_version_that_there_is() -> None:
    found = documents()
    assert len(found) > 8
    assert all(document["apiVersion"] == KINDS[document["kind"]] for document in found)
    named = plain_yaml.read((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert {*named, "kustomization.yaml", "intake-with-spool.yaml"} == {file.name for file in FOLDER.iterdir()}


def test_a_container_runs_a_command_of_ours_as_nobody_special(owner: dict[str, Any]) -> None:
    pod, container = owner["spec"]["template"]["spec"], container_of(owner)
    assert set(container) <= OF_A_CONTAINER and set(pod) <= OF_A_POD
    must_parse(container["args"])
    assert container["image"] == "landfast", "the name that kustomization.yaml changes"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == "10001"
    assert "useradd --system --uid 10001" in (DEPLOY / "user/Dockerfile").read_text()


def test_what_a_container_mounts_and_reads_is_there(owner: dict[str, Any]) -> None:
    pod, container = owner["spec"]["template"]["spec"], container_of(owner)
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in owner["spec"].get("volumeClaimTemplates", [])}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    secrets = {volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume}
    secrets |= {each["secretRef"]["name"] for each in container["envFrom"]}
    assert secrets == set(re.findall(r"create secret generic (\S+)", PAGE)), "what the page has people create"


@pytest.mark.parametrize("name", [name for name in PODS if not name.startswith("Job")])
def test_probes_ask_a_port_that_is_opened_and_a_path_that_is_answered(name: str) -> None:
    container = container_of(PODS[name])
    port, metrics = container["ports"]
    asked = {probe: container[f"{probe}Probe"] for probe in ("startup", "readiness", "liveness")}
    for probe in asked.values():
        assert set(probe) <= OF_A_PROBE and probe["httpGet"]["port"] == port["name"]
    paths = {probe: rule["httpGet"]["path"] for probe, rule in asked.items()}
    assert paths == {"startup": "/health", "readiness": "/ready", "liveness": "/health"}
    option = "--health-port" if container["args"][0] == "work" else "--port"
    assert container["args"][container["args"].index(option) + 1] == port["containerPort"]
    assert container["args"][container["args"].index("--metrics-port") + 1] == metrics["containerPort"]
    assert {"name": "LANDFAST_METRICS_HOST", "value": "0.0.0.0"} in container["env"]
    assert "0.0.0.0" in str(container), "a probe comes from outside of the pod"


def test_nobody_is_killed_while_it_finishes_what_it_has() -> None:
    for name, owner in PODS.items():
        pod, container = owner["spec"]["template"]["spec"], container_of(owner)
        if name.startswith("Job"):
            continue
        waits = int(
            container.get("lifecycle", {}).get("preStop", {}).get("exec", {"command": ["sleep", 0]})["command"][1]
        )
        longest = DEADLINE + MARGIN_SECONDS if container["args"][0] == "work" else GRACE_SECONDS
        assert seconds(pod["terminationGracePeriodSeconds"]) > waits + longest
        if container["args"][0] == "work":
            live = container["livenessProbe"]
            assert seconds(live["periodSeconds"]) * seconds(live["failureThreshold"]) > longest


DEADLINE = 30
"""Of a handler that says none."""


def test_the_deadline_is_what_a_handler_has_that_says_none(tmp_path: Path) -> None:
    (tmp_path / "landfast.toml").touch()
    inbox = Inbox(tmp_path / "landfast.toml")

    @inbox.on("stripe", "*")
    async def book(event: Event, tx: Transaction) -> None: ...

    assert inbox.registry.longest_deadline() == DEADLINE


def test_who_is_chosen_by_labels_has_them() -> None:
    labels = {owner["metadata"]["name"]: owner["spec"]["template"]["metadata"]["labels"] for owner in PODS.values()}
    for document in documents():
        spec = document.get("spec", {})
        selector = spec.get("selector", {}).get("matchLabels") or spec.get("selector")
        if document["kind"] in {"Deployment", "StatefulSet", "PodDisruptionBudget", "Service"}:
            assert selector == labels[document["metadata"]["name"]], document["kind"]
        if document["kind"] in {"Deployment", "StatefulSet"}:
            (spread,) = spec["template"]["spec"]["topologySpreadConstraints"]
            assert spread["labelSelector"]["matchLabels"] == labels[document["metadata"]["name"]]


def test_the_ingress_passes_webhooks_on_and_nothing_else() -> None:
    service, ingress = documents("service.yaml")
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["path"] == "/in/" and path["backend"]["service"]["name"] == service["metadata"]["name"]
    assert (
        service["spec"]["ports"][0]["targetPort"]
        == container_of(PODS["Deployment landfast-intake"])["ports"][0]["name"]
    )
    assert rule["host"] in ingress["spec"]["tls"][0]["hosts"]


def test_the_objects_that_the_page_names_are_there() -> None:
    names = {
        f"{document['kind'].lower()}/{document['metadata']['name']}"
        for document in documents()
        if "metadata" in document
    }
    told = set(re.findall(r"\b((?:deployment|job)/landfast-[\w-]+)", PAGE))
    assert told and told <= names
    assert "landfast work --health-port 8421" in PAGE


def test_kubectl_builds_it() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed; the tests above read the same files")
    resources = plain_yaml.read((FOLDER / "kustomization.yaml").read_text())["resources"]
    named = documents(*resources)
    built = subprocess.run(["kubectl", "kustomize", FOLDER], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert built.stdout.count("image: registry.example/shop-webhooks:1") == 3
    assert built.stdout.count("\n  namespace: landfast") == len(named) - 1, "all but itself"
