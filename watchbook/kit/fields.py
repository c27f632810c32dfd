"""A form field as HTML: label above, control, note, error, tied together for screen readers."""

from __future__ import annotations

from typing import Any

from django.forms import BoundField, widgets
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


def draw_field(bound: BoundField, *, note: str, label: str, css: str, error_icon: SafeString) -> SafeString:
    widget = bound.field.widget
    if bound.is_hidden:
        return bound.as_hidden()
    note_text = str(note or bound.help_text)
    errors = [str(text) for text in bound.errors]
    error_id, note_id = f"{bound.auto_id}_error", f"{bound.auto_id}_note"
    described = " ".join(([error_id] if errors else []) + ([note_id] if note_text else []))
    control = bound.as_widget(attrs=_attributes(widget, described, invalid=bool(errors), css=css))
    below = _below(errors, error_id, error_icon) + _note(note_text, note_id)
    words = label or bound.label
    if isinstance(widget, widgets.CheckboxInput):
        return format_html('<div class="field"><label class="check">{} {}</label>{}</div>', control, words, below)
    if isinstance(widget, (widgets.RadioSelect, widgets.CheckboxSelectMultiple)):
        return format_html('<fieldset class="field"><legend>{}</legend>{}{}</fieldset>', words, control, below)
    return format_html(
        '<div class="field"><label for="{}">{}</label>{}{}</div>', bound.id_for_label, words, control, below
    )


def _attributes(widget: widgets.Widget, described: str, *, invalid: bool, css: str) -> dict[str, Any]:
    found: dict[str, Any] = {"class": " ".join(filter(None, [_class_of(widget), widget.attrs.get("class", ""), css]))}
    if not found["class"]:
        del found["class"]
    if invalid:
        found["aria-invalid"] = "true"
    if described:
        found["aria-describedby"] = described
    return found


def _class_of(widget: widgets.Widget) -> str:
    if isinstance(widget, (widgets.CheckboxInput, widgets.RadioSelect, widgets.CheckboxSelectMultiple)):
        return ""
    if isinstance(widget, widgets.Textarea):
        return "textarea"
    return "select" if isinstance(widget, widgets.Select) else "input"


def _below(errors: list[str], error_id: str, error_icon: SafeString) -> SafeString:
    if not errors:
        return SafeString("")
    lines = format_html_join(
        "", '<p class="field-error">{}<span>{}</span></p>', ((error_icon, text) for text in errors)
    )
    return format_html('<div id="{}">{}</div>', error_id, lines)


def _note(text: str, note_id: str) -> SafeString:
    return format_html('<p class="field-note" id="{}">{}</p>', note_id, text) if text else SafeString("")
