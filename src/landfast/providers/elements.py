"""Read one element of XML that stands in base64 in a field of a form: Braintree's events."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from xml.etree import ElementTree as ET


def element_text(encoded: str, path: Sequence[str]) -> str | None:
    """The text of the element at the path, its root first; None where there is none. Whoever made it is known by then:
    what is read here is signed."""
    try:
        # As UTF-8 and without NUL, so that what is looked for and what is parsed are the same letters: the parser would
        # take UTF-16 too, or whatever encoding the document names.
        document = binascii.a2b_base64(encoded).decode()
        # No document type, and so no entities that grow: no sender of events has them.
        if "<!" in document or "\0" in document:
            return None
        root = ET.fromstring(document)  # noqa: S314 - see above
    except (ValueError, ET.ParseError):
        return None
    return root.findtext("/".join(path[1:])) if path and root.tag == path[0] else None
