"""What a value is by its form: a date, an address, a version."""

from __future__ import annotations

import re

from synth.embedded.template import Value

FORMS = {
    r"\d{1,3}(\.\d{1,3}){3}": ("address", "IP address, such as 10.0.0.7"),
    r"v?\d+(\.\d+)+[\w.\-]*": ("version", "Version, such as 1.2.0"),
    r"\d{4}-\d\d-\d\d": ("date", "Date, such as 2026-01-31"),
    r"\d{4}-\d\d": ("month", "Month, such as 2026-01"),
    r"(19|20)\d\d": ("year", "Year, such as 2026"),
    r"\d\d?:\d\d(:\d\d)?": ("time", "Time of day, such as 09:30"),
    r"[\w.+\-]+@[\w\-]+(\.[\w\-]+)+": ("email", "Mail address"),
    r"[a-z]{3,5}://\S+": ("url", "Address on the web"),
}
"""What values are by their form, whatever they stand in."""
BEFORE_PLACE = ("address", "version")
"""Those that say more than the place."""


def form_of(values: tuple[Value, ...]) -> tuple[str, str] | None:
    """What all values are by their form, the first that fits."""
    texts = [v for v in values if isinstance(v, str)]
    whole = len(texts) == len(values)
    return next((said for form, said in FORMS.items() if whole and all(re.fullmatch(form, t) for t in texts)), None)
