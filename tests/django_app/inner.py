"""Tests that run inside a Django project, under Django's own runner and on its test database: `shop/tests.py` of a copy
of an example. `test_projects.py` starts them."""

# mypy: ignore-errors
import json
import os
import time
from io import StringIO

from asgiref.sync import async_to_sync
from django.contrib.auth.models import Permission, User
from django.core import checks
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.test import AsyncClient, Client, TestCase, TransactionTestCase, override_settings
from shop.models import Order
from shop.webhooks import inbox

from landfast.demo.sender import Sender
from landfast.django import views
from landfast.ledgers.django.inline import inline
from landfast.providers import provider
from landfast.providers.signing import sign

SECRET = os.environ["STRIPE_WEBHOOK_SECRET"]
HOOK = "/hooks/in/stripe"
HOSTILE = "<script>alert(1)</script>\u202e\x07"
SEEN = []
FAIL = []


@inbox.on("stripe", "payment_intent.succeeded")
def note(event):
    transaction.on_commit(lambda: SEEN.append(event.key))


@inbox.on("stripe", "payment_intent.succeeded")
async def look(event):
    assert await Order.objects.filter(payment_id__isnull=False).acount() > 0
    await Order.objects.filter(payment_id="none").aupdate(amount=0)
    if FAIL:
        raise ValueError("asked to fail")


def signed(body):
    return sign(provider("stripe"), body, SECRET, now=time.time())


def payment(event):
    return Sender(SECRET).payment(event)


def deliver(client, body, **more):
    return client.post(HOOK, body, content_type="application/json", headers=signed(body), **more)


async def drain():
    async with inbox.worker() as worker:
        await worker.drain()


def process():
    with inline("default"):
        async_to_sync(drain)()


class InTestsTransaction(TestCase):
    """The handler sees what the test wrote, and all of it is undone with the test."""

    def test_a_payment_makes_one_order_however_often_it_comes(self):
        Order.objects.create(payment_id="before", amount=1)
        for _ in range(3):
            assert deliver(self.client, payment("evt_a")).status_code == 200
        process()
        process()
        assert orders("before", "pi_a") == ["before", "pi_a"]
        assert connection.in_atomic_block

    def test_b_the_one_before_left_nothing(self):
        assert Order.objects.count() == 0
        assert receipts() == 0

    def test_hooks_are_captured_as_everywhere_in_django(self):
        deliver(self.client, payment("evt_b"))
        SEEN.clear()
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            process()
        assert (len(callbacks), SEEN.count("evt_b")) == (len(SEEN), 1)

    def test_what_a_failed_handler_wrote_is_undone_and_the_rest_stays(self):
        Order.objects.create(payment_id="before", amount=1)
        deliver(self.client, payment("evt_c"))
        FAIL.append(1)
        try:
            process()
        finally:
            FAIL.clear()
        assert orders("before", "pi_c") == ["before", "pi_c"]
        assert receipts() % 3 == 2  # of the two handlers that did not fail
        assert not connection.needs_rollback


class Committed(TransactionTestCase):
    def test_a_payment_makes_one_order_and_its_hooks_run_after_the_commit(self):
        SEEN.clear()
        for _ in range(2):
            deliver(self.client, payment("evt_d"))
        process()
        assert orders("pi_d") == ["pi_d"]
        assert SEEN.count("evt_d") == 1
        assert not connection.in_atomic_block


class Intake(TestCase):
    def test_a_forged_one_is_refused(self):
        body = payment("evt_e")
        answer = self.client.post(HOOK, body + b" ", content_type="application/json", headers=signed(body))
        assert answer.status_code in (400, 401)

    def test_no_token_against_forged_requests_is_asked_for(self):
        assert deliver(Client(enforce_csrf_checks=True), payment("evt_f")).status_code == 200

    def test_the_body_is_taken_as_it_is(self):
        body = payment("evt_g").replace(b'"id"', b'  "id" ', 1) + b"\n"
        assert deliver(self.client, body).status_code == 200

    @override_settings(MIDDLEWARE=["shop.tests.ReadsBody", "shop.tests.ReadsForm"])
    def test_a_middleware_may_have_read_it(self):
        assert deliver(self.client, payment("evt_h")).json()["status"] == "stored"

    @override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10)
    def test_djangos_own_limit_is_for_forms(self):
        assert deliver(self.client, payment("evt_i")).status_code == 200

    async def test_the_same_under_asgi(self):
        body = payment("evt_j")
        answer = await AsyncClient().post(HOOK, body, content_type="application/json", headers=signed(body))
        assert (answer.status_code, answer.json()["status"]) == (200, "stored")
        again = await AsyncClient().post(HOOK, body, content_type="application/json", headers=signed(body))
        assert again.json()["status"] == "duplicate"
        assert answer.headers["content-type"].startswith("application/json")

    def test_no_transaction_is_around_the_view(self):
        connections.settings["default"]["ATOMIC_REQUESTS"] = True
        try:
            assert deliver(self.client, payment("evt_k")).status_code == 200
        finally:
            connections.settings["default"]["ATOMIC_REQUESTS"] = False
        assert "default" in views.receive_in_thread._non_atomic_requests
        assert "default" in views.receive_on_loop._non_atomic_requests

    def test_health_is_there_and_nothing_else(self):
        assert self.client.get("/hooks/health").status_code == 200
        assert self.client.get("/hooks/in/stripe/more").status_code == 404


class ReadsBody:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        assert request.body
        return self.get_response(request)


class ReadsForm(ReadsBody):
    def __call__(self, request):
        assert not request.POST
        return self.get_response(request)


class Admin(TestCase):
    def setUp(self):
        body = json.loads(payment("evt_l"))
        body["data"]["object"]["description"] = HOSTILE
        body["type"] = "payment_intent.<b>created</b>"
        self.event = deliver(self.client, json.dumps(body).encode()).json()["event"]
        self.list, self.show = "/admin/landfast/event/", f"/admin/landfast/event/{self.event}/"

    def log_in(self, *permissions):
        user = User.objects.create_user("anna", is_staff=True, password="x")
        user.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
        self.client.force_login(user)

    def test_strangers_are_sent_to_the_login(self):
        for page in (self.list, self.show):
            assert self.client.get(page).status_code == 302

    def test_staff_needs_the_permission(self):
        self.log_in("view_order")
        for page in (self.list, self.show):
            assert self.client.get(page).status_code == 403

    def test_staff_with_the_permission_looks_and_changes_nothing(self):
        self.log_in("view_event")
        listed, shown = self.client.get(self.list), self.client.get(self.show)
        assert (listed.status_code, shown.status_code) == (200, 200)
        assert self.event in listed.content.decode()
        for page in (listed, shown):
            assert "<b>created" not in page.content.decode()
            assert "&lt;b&gt;created" in page.content.decode()
        text = shown.content.decode()
        assert "<script>alert" not in text
        assert not any(character in text for character in "\u202e\x07")
        for page in (self.list, self.show):
            assert self.client.post(page, {"action": "delete_selected"}).status_code == 405
        for page in ("add/", f"{self.event}/delete/", f"{self.event}/change/"):
            assert self.client.get(self.list + page).status_code == 404
        index = self.client.get("/admin/").content.decode()
        assert self.list in index
        assert f"{self.list}add/" not in index

    def test_a_filter_is_that_of_the_commands_and_a_wrong_one_is_told(self):
        self.log_in("view_event")
        assert self.event in self.client.get(self.list, {"q": "source:stripe"}).content.decode()
        assert self.event not in self.client.get(self.list, {"q": "state:dead"}).content.decode()
        assert "there is no field" in self.client.get(self.list, {"q": "sorce:stripe"}).content.decode()
        assert self.client.get(self.list, {"after": "nonsense"}).status_code == 200


class Commands(TestCase):
    def test_makemigrations_finds_nothing(self):
        call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())
        call_command("makemigrations", "landfast", "--check", "--dry-run", stdout=StringIO())

    def test_dumpdata_asks_for_no_table_of_ours(self):
        call_command("dumpdata", stdout=StringIO())
        call_command("dumpdata", "--all", stdout=StringIO())

    def test_commands_of_landfast_know_the_inbox(self):
        deliver(self.client, payment("evt_m"))
        call_command("landfast", "events", "show", "evt_m", "--json")
        with self.assertRaisesMessage(CommandError, "ended with 1"):
            call_command("landfast", "events", "show", "evt_none")

    def test_check_says_what_sources_check_says(self):
        assert checks.run_checks(tags=["landfast"]) == []
        secret = os.environ.pop("STRIPE_WEBHOOK_SECRET")
        try:
            (found,) = checks.run_checks(tags=["landfast"])
        finally:
            os.environ["STRIPE_WEBHOOK_SECRET"] = secret
        assert found.id == "landfast.E003"
        assert "STRIPE_WEBHOOK_SECRET" in found.msg

    def test_check_says_what_is_wrong_with_the_setting(self):
        for given, said in (
            ({"inbox": "shop.webhooks:inbx"}, "no landfast.Inbox"),
            ({"inbox": "shop.nowhere:inbox"}, "cannot be imported"),
            ({"inbx": "shop.webhooks:inbox"}, "did you mean 'inbox'?"),
            ("shop.webhooks:inbox", "must be a dict"),
        ):
            with override_settings(LANDFAST=given):
                (found,) = checks.run_checks(tags=["landfast"])
            assert (found.id, said in found.msg) == ("landfast.E001", True), found.msg
        with override_settings(LANDFAST={"inbox": "shop.webhooks:inbox"}):
            assert checks.run_checks(tags=["landfast"]) == []


def orders(*payments):
    """Of these: the inbox is another database, and still has what other tests sent."""
    return sorted(Order.objects.filter(payment_id__in=payments).values_list("payment_id", flat=True))


def receipts():
    with connection.cursor() as cursor:
        table = "landfast_receipt" if connection.vendor == "sqlite" else "landfast_ledger.receipt"
        cursor.execute(f"SELECT count(*) FROM {table}")
        return cursor.fetchone()[0]
