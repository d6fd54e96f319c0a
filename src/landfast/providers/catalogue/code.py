"""Code: repositories and their pipelines."""

from __future__ import annotations

from landfast.providers.profile import MEBIBYTE, Profile, Redelivery, Sample
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.token import TokenScheme

GITHUB = Profile(
    name="github",
    title="GitHub",
    # The second is what servers from before 2020 send alone; GitHub itself always sends both.
    scheme=AnyOf(
        SignedScheme(signature="header:X-Hub-Signature-256", prefix="sha256="),
        SignedScheme(signature="header:X-Hub-Signature", prefix="sha1=", algorithm="sha1"),
    ),
    # X-GitHub-Delivery is not signed: whoever captured one body could replay it under a fresh id.
    key="type+body",
    type="header:X-GitHub-Event + body:action",
    entity=(
        "body:repository.id | body:organization.id"
        " + body:pull_request.id | body:issue.id | body:check_run.id | body:workflow_run.id | body:release.id"
    ),
    redelivery=Redelivery(timeout=10, window=0, delays=()),
    samples=(
        Sample(
            type="pull_request.opened",
            headers={"X-GitHub-Event": "{type.first}", "X-GitHub-Delivery": "{id}"},
            data={
                "action": "{type.rest}",
                "number": 7,
                "pull_request": {
                    "id": 900007,
                    "node_id": "{id}",  # the body must differ too: its digest is what tells GitHub's events apart
                    "number": 7,
                    "state": "open",
                    "title": "Moor the ice",
                    "user": {"login": "selma", "id": 4001},
                    "created_at": "2026-01-01T00:00:00Z",
                    "head": {"ref": "moor", "sha": "5a1e0c3b9d7f2468ace013579bdf02468ace1357"},
                    "base": {"ref": "main", "sha": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334"},
                },
                "repository": {"id": 700001, "name": "shore", "full_name": "north-pier/shore", "private": False},
                "organization": {"login": "north-pier", "id": 5001},
                "sender": {"login": "selma", "id": 4001, "type": "User"},
            },
        ),
    ),
    body_limit=25 * MEBIBYTE,  # GitHub's documented cap on a payload
    setup="Settings, Webhooks: choose a secret, and application/json.",
    traps=("Nothing is sent again by itself: what is not stored is lost until somebody redelivers it by hand.",),
)

GITLAB = Profile(
    name="gitlab",
    title="GitLab",
    scheme=TokenScheme(token="header:X-Gitlab-Token"),  # noqa: S106 - where one stands
    # The token proves no body, so the sender's own id is as good a key as any.
    key="header:Idempotency-Key",
    type="header:X-Gitlab-Event",
    entity="body:project.id + body:object_attributes.id",
    occurred_at="body:object_attributes.updated_at",
    samples=(
        Sample(
            type="Issue Hook",
            headers={"X-Gitlab-Event": "{type}", "Idempotency-Key": "{id}"},
            data={
                "object_kind": "issue",
                "project": {"id": 31, "path_with_namespace": "north-pier/shore"},
                "object_attributes": {
                    "id": 301,
                    "iid": 23,
                    "title": "The ice is thin",
                    "state": "opened",
                    "action": "open",
                    "updated_at": "2026-01-01 00:00:00 UTC",
                },
                "user": {"id": 1, "username": "selma"},
            },
        ),
    ),
    setup="Settings, Webhooks: choose a secret token.",
    traps=(
        "The token is sent in clear and proves no body: take requests over TLS only.",
        "Versions before 17.4 send no Idempotency-Key: there the digest of the body is the key.",
    ),
)

PROFILES = (GITHUB, GITLAB)
