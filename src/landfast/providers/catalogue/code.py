"""Code: repositories and their pipelines."""

from __future__ import annotations

from landfast.providers.profile import MEBIBYTE, Profile
from landfast.providers.redelivery import Redelivery, Sample
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
    # Neither X-GitHub-Delivery nor the type is signed: who captured one body could replay it under a fresh id or type.
    key="body",
    type="header:X-GitHub-Event + body:action",
    type_letters="[a-z_]{1,64}",
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
        Sample(
            type="ping",
            headers={"X-GitHub-Event": "{type}", "X-GitHub-Delivery": "{id}"},
            data={
                "zen": "Ice has no opinion of the boat.",
                "hook_id": 8001,
                "hook": {"id": 8001, "type": "Repository", "name": "web", "active": True, "events": ["push"]},
                "repository": {"id": 700001, "name": "shore", "full_name": "north-pier/shore", "private": False},
            },
        ),
    ),
    body_limit=25 * MEBIBYTE,  # GitHub's documented cap on a payload
    setup="Settings, Webhooks: choose a secret, and application/json.",
    traps=(
        "Nothing is sent again by itself: what is not stored is lost until somebody redelivers it by hand.",
        "A new webhook is tried with a ping, which is an event like any other: its type is ping.",
        "An Enterprise Server waits 30 seconds for an answer, and not 10.",
    ),
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
    time_of_object=True,
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

BITBUCKET_CLOUD = Profile(
    name="bitbucket-cloud",
    title="Bitbucket Cloud",
    # Named as GitHub's older header, and not SHA-1.
    scheme=SignedScheme(signature="header:X-Hub-Signature", prefix="sha256="),
    key="body",  # X-Request-UUID is not signed
    type="header:X-Event-Key",
    type_letters="[a-z_]{1,32}:[a-z_]{1,64}",
    entity="body:repository.uuid + body:pullrequest.id | body:issue.id",
    occurred_at="body:comment.updated_on | body:pullrequest.updated_on | body:issue.updated_on",
    time_of_object=True,
    samples=(
        Sample(
            type="pullrequest:created",
            headers={"X-Event-Key": "{type}", "X-Request-UUID": "{id}", "X-Attempt-Number": "1"},
            data={
                "repository": {
                    "type": "repository",
                    "uuid": "{5e7a1f02-3b9c-4d68-8e21-0c4f9b7a6d13}",
                    "full_name": "north-pier/shore",
                },
                "actor": {"type": "user", "display_name": "Selma", "nickname": "selma"},
                "pullrequest": {
                    "id": 7,
                    "title": "Moor the ice",
                    "description": "See {id}.",
                    "state": "OPEN",
                    "source": {"branch": {"name": "moor"}},
                    "destination": {"branch": {"name": "main"}},
                    "updated_on": "2026-01-01T00:00:00.000000+00:00",
                },
            },
        ),
    ),
    setup="Repository settings, Webhooks: choose a secret. Without one nothing is signed, and all is refused here.",
    traps=(
        "The signature is in X-Hub-Signature and is SHA-256, where GitHub's header of that name is SHA-1.",
        "What kind of event it is stands in the header X-Event-Key only.",
    ),
)

BITBUCKET_SERVER = Profile(
    name="bitbucket-server",
    title="Bitbucket Data Center",
    scheme=SignedScheme(signature="header:X-Hub-Signature", prefix="sha256="),
    key="body",  # X-Request-Id is not signed; the body holds the kind and the time of the event
    type="body:eventKey | header:X-Event-Key",
    type_letters="[a-z_]{1,32}(:[a-z_]{1,64}){1,2}",
    entity="body:repository.id | body:pullRequest.toRef.repository.id + body:pullRequest.id",
    occurred_at="body:date",
    samples=(
        Sample(
            type="pr:opened",
            headers={"X-Event-Key": "{type}", "X-Request-Id": "{id}"},
            data={
                "eventKey": "{type}",
                "date": "2026-01-01T00:00:00+0000",
                "actor": {"name": "selma", "id": 4001, "displayName": "Selma"},
                "pullRequest": {
                    "id": 7,
                    "version": 0,
                    "title": "Moor the ice",
                    "description": "See {id}.",
                    "state": "OPEN",
                    "fromRef": {"id": "refs/heads/moor", "repository": {"id": 84, "slug": "shore"}},
                    "toRef": {"id": "refs/heads/main", "repository": {"id": 84, "slug": "shore"}},
                },
            },
        ),
    ),
    setup="Repository settings, Webhooks: choose a secret.",
    traps=("Its events and their fields are not those of Bitbucket Cloud: a push is repo:refs_changed here.",),
)

GITEA = Profile(
    name="gitea",
    title="Gitea and Forgejo",
    scheme=SignedScheme(signature="header:X-Gitea-Signature"),
    key="body",  # X-Gitea-Delivery is not signed
    type="header:X-Gitea-Event + body:action",
    type_letters="[a-z_]{1,64}",
    entity="body:repository.id + body:pull_request.id | body:issue.id | body:release.id",
    occurred_at="body:pull_request.updated_at | body:issue.updated_at | body:release.created_at",
    time_of_object=True,
    redelivery=Redelivery(timeout=5, window=0, delays=()),
    samples=(
        Sample(
            type="issues.opened",
            headers={"X-Gitea-Event": "{type.first}", "X-Gitea-Delivery": "{id}"},
            data={
                "action": "{type.rest}",
                "number": 23,
                "issue": {
                    "id": 301,
                    "number": 23,
                    "title": "The ice is thin",
                    "body": "See {id}.",
                    "state": "open",
                    "updated_at": "2026-01-01T00:00:00Z",
                },
                "repository": {"id": 31, "full_name": "north-pier/shore", "private": False},
                "sender": {"id": 1, "login": "selma"},
            },
        ),
    ),
    setup="Settings, Webhooks, Gitea: choose a secret, and application/json.",
    traps=(
        "Nothing is sent again by itself: what is not stored is lost until somebody redelivers it by hand.",
        "It sends the headers of Gogs and GitHub as well: the same secret, and no need for another source.",
    ),
)

GOGS = Profile(
    name="gogs",
    title="Gogs",
    scheme=SignedScheme(signature="header:X-Gogs-Signature"),
    key="body",  # X-Gogs-Delivery is not signed
    type="header:X-Gogs-Event + body:action",
    type_letters="[a-z_]{1,64}",
    entity="body:repository.id + body:pull_request.id | body:issue.id",
    occurred_at="body:pull_request.updated_at | body:issue.updated_at",
    time_of_object=True,
    samples=(
        Sample(
            type="push",
            headers={"X-Gogs-Event": "{type}", "X-Gogs-Delivery": "{id}"},
            data={
                "ref": "refs/heads/main",
                "before": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334",
                "after": "5a1e0c3b9d7f2468ace013579bdf02468ace1357",
                "commits": [{"id": "5a1e0c3b9d7f2468ace013579bdf02468ace1357", "message": "Moor the ice, {id}"}],
                "repository": {"id": 31, "full_name": "north-pier/shore", "private": False},
                "sender": {"id": 1, "username": "selma"},
            },
        ),
    ),
    setup="Settings, Webhooks, Gogs: choose a secret, and application/json.",
    traps=("The signature is bare hex: no sha256= stands before it.",),
)

PROFILES = (GITHUB, GITLAB, BITBUCKET_CLOUD, BITBUCKET_SERVER, GITEA, GOGS)
