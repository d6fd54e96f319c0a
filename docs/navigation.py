"""Which page stands where: `docs/index.md` and the navigation of the site are both drawn from this table.

A page that is not written yet is left out. A page that is written and stands in no section fails a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

Pages = Mapping[str, tuple[str, str]]
"""A page, with the name that it has in a list of pages, and what its reader wants."""

HOWTO: Mapping[str, Pages] = {
    "In your framework": {
        "howto/fastapi.md": ("FastAPI", "take webhooks in with FastAPI, Starlette or Litestar"),
        "howto/django.md": ("Django", "take webhooks in with Django, and write with its ORM"),
        "howto/flask.md": ("Flask", "take webhooks in with Flask, or any WSGI server"),
        "howto/middleware.md": ("Middleware", "protect a route that I have already"),
    },
    "With your database": {
        "howto/sqlalchemy.md": ("SQLAlchemy", "write with SQLAlchemy"),
        "howto/psycopg.md": ("psycopg", "write with psycopg"),
        "howto/mysql.md": ("MySQL, MariaDB", "write to MySQL or MariaDB"),
        "howto/pgbouncer.md": ("PgBouncer", "use a database behind a pooler"),
        "howto/write-a-driver.md": ("Write a driver", "keep inbox or ledger in another database"),
    },
    "Senders": {
        "howto/add-a-provider.md": ("Add a provider", "take webhooks from a sender that Landfast does not know"),
        "howto/rotate-secrets.md": ("Rotate secrets", "change a secret without refusing anybody"),
        "howto/limits.md": ("Limits", "say who may send, and how much"),
        "howto/unhandled.md": ("Unhandled types", "decide about types that nobody handles"),
    },
    "Handlers": {
        "howto/endpoints.md": ("Endpoints", "answer internal callers, once for each idempotency key"),
        "howto/order.md": ("Order", "process the events of one customer in the order in which they happened"),
        "howto/out-of-order.md": ("Out of order", "take the newest only, or have an event wait for another"),
        "howto/retries.md": ("Retries", "say how long a failed event is tried"),
        "howto/dependencies.md": ("Dependencies", "wait for a service that is away, and not stampede it"),
        "howto/write-without-waiting.md": ("Writes without answers", "write without waiting for the database"),
        "howto/write-twice.md": ("Writes that stand twice", "write so that twice does no harm"),
        "howto/forward.md": ("Forward", "send events on to a service in any language"),
        "howto/steps.md": ("Several steps", "do work in several steps, or later"),
        "howto/handlers-that-hang.md": ("Handlers that hang", "find out where a handler hangs"),
        "howto/test.md": ("Tests", "test my handlers"),
        "howto/prove-a-handler.md": ("Prove a handler", "prove that a handler may run twice"),
        "howto/local-development.md": ("Local development", "work on my own machine, with real samples"),
        "howto/listen.md": ("Listen", "have what a hosted inbox receives on my own machine"),
    },
    "On machines": {
        "howto/deploy.md": ("Deploy", "put it on machines: systemd, Docker, compose"),
        "howto/kubernetes.md": ("Kubernetes", "put it on Kubernetes"),
        "howto/proxies.md": ("Proxies", "put nginx, HAProxy, Caddy or Traefik in front"),
        "howto/layers.md": ("Layers", "go on acknowledging while the database is away"),
        "howto/upgrade.md": ("Upgrade", "go to a newer version"),
        "howto/backup.md": ("Back up and restore", "save it, and get it back"),
    },
    "On call": {
        "howto/dashboard.md": ("Dashboard", "look at it in a browser, and fix it there"),
        "howto/status.md": ("Status and doctor", "know what is going on, and what is wrong"),
        "howto/admin-api.md": ("Admin API and tokens", "ask and change things over HTTP, and say who may"),
        "howto/assistants.md": ("Assistants", "let an assistant look at it, and act if I allow it"),
        "howto/be-told-in-time.md": ("Be told in time", "be told when something goes wrong"),
        "howto/fix-and-replay.md": ("Fix and replay", "get what failed processed after all"),
        "howto/read-the-log.md": ("Read the log", "see what it is doing"),
        "howto/metrics.md": ("Metrics, traces and logs", "have Prometheus, OpenTelemetry and Sentry watch it"),
        "howto/proof.md": ("Read a proof", "know that nothing was lost"),
        "howto/retention.md": ("How long things are kept", "say how long things are kept"),
        "howto/audit.md": ("Who did what", "know who changed what by hand"),
        "howto/reconcile.md": ("What never arrived", "find webhooks that never arrived, and take them in"),
        "howto/duplicates.md": ("Duplicates", "clean up what an earlier handler doubled"),
        "howto/full-disk.md": ("The disk is full", "make room at three in the morning"),
        "howto/power-loss.md": ("Power loss", "know what a power cut does"),
        "howto/erase.md": ("Seal and erase", "encrypt what is stored, or destroy a person's data"),
    },
}

LOOK_UP: Pages = {
    "reference/settings.md": ("Settings", "settings"),
    "reference/commands.md": ("Commands", "commands"),
    "reference/api.md": ("Python API", "the Python API"),
    "reference/admin-api.md": ("Admin API", "the admin API: every path, its role and its parameters"),
    "reference/errors.md": ("Errors", "errors"),
    "reference/log.md": ("Log lines", "log lines"),
    "reference/metrics.md": ("Metrics", "metrics"),
    "reference/lifecycle.md": ("The life of an event", "the life of an event: its states, and what moves it"),
    "reference/providers.md": ("Providers", "providers, one page for each"),
    "reference/describing-a-provider.md": ("Describing a provider", "how a provider is described"),
    "glossary.md": ("Glossary", "every word that you meet"),
}

UNDERSTAND: Pages = {
    "explanation/guarantees.md": ("Guarantees", "what is guaranteed, what each promise rests on, and how it is tested"),
    "explanation/threat-model.md": ("Threat model", "who is trusted with what"),
    "explanation/speed.md": ("Speed", "how fast it is"),
    "explanation/beside-others.md": ("Beside others", "the same webhooks with what people would pick instead"),
    "explanation/scaling.md": ("Scaling", "what one server carries, and what to do beyond it"),
    "explanation/regions.md": ("Regions", "several regions, one home for each key"),
}

PROJECT: Pages = {
    "README.md": ("README", "what it is, what it promises, what you write"),
    "CHANGELOG.md": ("Changelog", "what changed"),
    "ARCHITECTURE.md": ("Architecture", "the path of a webhook, file by file"),
    "CONTRIBUTING.md": ("Contributing", "how to work on it"),
    "RELEASING.md": ("Releasing", "how a version is made"),
    "SECURITY.md": ("Security", "where to report a hole"),
}
"""Pages of the repository that lie beside docs/."""


def howto_pages() -> dict[str, Pages]:
    """The groups with their pages that are written; no empty group."""
    found = {group: _written(pages) for group, pages in HOWTO.items()}
    return {group: pages for group, pages in found.items() if pages}


def homeless() -> list[str]:
    """Pages for people that stand in no section."""
    placed = {"index.md", "tutorial.md", *LOOK_UP, *UNDERSTAND, *(page for pages in HOWTO.values() for page in pages)}
    written = [*DOCS.glob("*.md"), *(page for part in ("howto", "explanation", "reference") for page in _of(part))]
    return sorted({str(page.relative_to(DOCS)) for page in written} - placed)


def runbooks() -> dict[str, str]:
    """The page of each alert, by page, with its name."""
    return {f"runbooks/{page.name}": title(page.read_text("utf-8")) for page in _of("runbooks")}


def adrs() -> dict[str, str]:
    """The decisions, by page, with their titles."""
    return {f"adr/{page.name}": title(page.read_text("utf-8")) for page in _of("adr")}


def title(text: str) -> str:
    return text.removeprefix("# ").partition("\n")[0]


def index() -> str:
    """docs/index.md."""
    lines = [*_HEAD, "## Do"]
    for group, pages in howto_pages().items():
        rows = [f"| {want} | [{name}]({page}) |" for page, (name, want) in pages.items()]
        lines += ["", f"### {group}", "", "| I want to | Page |", "|---|---|", *rows]
    lines += ["", "### Runbooks", "", "What to do when an alert of this name rings.", ""]
    lines += [f"- [{name}]({page})" for page, name in runbooks().items()]
    lines += ["", "## Look up", "", *_list(LOOK_UP), "", "## Understand", "", *_list(UNDERSTAND)]
    lines += ["- [Decisions](adr): why it is so, and what would change our mind"]
    lines += ["", "## The project", "", *_list({f"../{page}": says for page, says in PROJECT.items()})]
    return "\n".join(lines) + "\n"


def _list(pages: Pages) -> list[str]:
    return [f"- [{name}]({page}): {says}" for page, (name, says) in pages.items()]


_HEAD = [
    "# Landfast",
    "",
    "A webhook inbox for Python. It proves who sent a webhook, makes it durable before it answers, and runs your",
    "handler so that its database writes happen **exactly once**, whatever crashes, retries or races.",
    "",
    "```python",
    "from landfast import Event, Inbox, Transaction",
    "",
    'inbox = Inbox(ledger="shop.db")  # your own database',
    'inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])',
    "",
    "",
    '@inbox.on("stripe", "payment_intent.succeeded")',
    "async def create_order(event: Event, tx: Transaction) -> None:",
    '    payment = event.data["data"]["object"]',
    '    await tx.execute("INSERT INTO orders VALUES ($1, $2)", payment["id"], payment["amount"])',
    "```",
    "",
    "- New here? [The tutorial](tutorial.md) takes a quarter of an hour: a webhook handled once, its worker killed on",
    "  the way, a dead letter replayed.",
    "- You know what you want to do? Below is a page for it.",
    "- Something is wrong? [The log](howto/read-the-log.md), [all errors](reference/errors.md), and `landfast doctor`.",
    "",
]


def _written(pages: Pages) -> Pages:
    return {page: says for page, says in pages.items() if (DOCS / page).is_file()}


def _of(part: str) -> list[Path]:
    return sorted((DOCS / part).glob("*.md"))
