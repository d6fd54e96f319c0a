"""What strangers put into webhooks: payloads that would run in a page that is careless about one of them."""

from __future__ import annotations

from typing import Any

from tests.admin.pages.storefront import Storefront

RUN = "window.ran=1"

STRANGE = (
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f'"><img src=x onerror={RUN}>',
    f"'><svg onload={RUN}>",
    f"</pre></td></tr></table><script>{RUN}</script>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"javascript:{RUN}",
    f"{{{{ ''.__class__ }}}}{{% set x = 1 %}}<b onmouseover={RUN}>",
    f"</title></textarea></style><script>{RUN}</script>",
    f"<a href='data:text/html,<script>{RUN}</script>'>x</a>",
    f"\u202e<script>{RUN}</script>\u2028\x85",
    f'<math><mi//xlink:href="data:x,<script>{RUN}</script>">',
    f"<style>@import '{RUN}'</style><link rel=stylesheet href=//x>",
    f"]]><!--<script>{RUN}</script>-->",
)


async def strange_event(front: Storefront, number: int, payload: str) -> int:
    """In its key, type, entity, body and headers; the handler puts it into its error as well."""
    described: dict[str, Any] = {"id": payload, "customer": f"{payload}{number}", "amount": payload, payload: payload}
    kind = "payment_intent.succeeded" if number % 2 else payload
    event = {"id": f"{payload}{number}", "object": "event", "created": 1, "type": kind, "data": {"object": described}}
    header = payload.encode("ascii", "replace").decode().replace("\n", " ")
    headers = {"content-type": "application/json", "x-strange": header}
    return await front.deliver("stripe", event, headers=headers)
