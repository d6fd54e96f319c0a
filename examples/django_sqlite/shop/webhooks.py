"""What happens when a webhook comes. Landfast finds the inbox in this module by its name."""

from landfast import Event, Inbox
from shop.models import Order

# The ledger is Django's own connection: what a handler does with the ORM commits together with its receipt, or not at
# all. So a payment makes one order, however often it is delivered, and wherever a worker dies.
inbox = Inbox(ledger="django:default")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
def create_order(event: Event) -> dict[str, int]:
    payment = event.data["data"]["object"]
    order = Order.objects.create(payment_id=payment["id"], amount=payment["amount"])
    return {"order": order.pk}
