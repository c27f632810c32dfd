"""The form of a rule of notifications."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.core.notify import rules
from watchbook.core.notify.channels import in_rows
from watchbook.core.notify.models import Digest
from watchbook.core.notify.rules import Rule, Subject

TEXT_LENGTH = rules.PATHS * (rules.PATH_LENGTH + 2)


def _time(label: Any, text: Any = "") -> forms.TimeField:
    clock_widget = forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    return forms.TimeField(label=label, required=False, help_text=text, widget=clock_widget)


def _paths(label: Any, text: Any) -> forms.CharField:
    lines = forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "placeholder": "/news/*"})
    return forms.CharField(label=label, required=False, help_text=text, max_length=TEXT_LENGTH, widget=lines)


class RuleForm(forms.Form):
    digest = forms.ChoiceField(
        label=gettext_lazy("Frequency"),
        required=False,
        choices=[("", gettext_lazy("As the channel")), *Digest.choices],
        help_text=gettext_lazy("Errors, recoveries and alerts are always sent immediately."),
    )
    minimum = forms.IntegerField(
        min_value=1,
        required=False,
        help_text=gettext_lazy("Smaller changes are in the inbox only."),
    )
    only_paths = _paths(
        gettext_lazy("Only these paths"),
        gettext_lazy("One per line. A star matches any text, and a path also matches what is below it."),
    )
    skip_paths = _paths(gettext_lazy("Not these paths"), gettext_lazy("They win over the field above."))
    quiet_from = _time(
        gettext_lazy("Quiet hours from"),
        gettext_lazy("In your time zone. What comes in this time is sent as one message when it ends."),
    )
    quiet_until = _time(gettext_lazy("Quiet hours until"))

    def __init__(self, *args: Any, subject: Subject, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if subject.counted:
            minimum = self.fields["minimum"]
            minimum.label = subject.counted
            minimum.help_text = subject.counted_note or minimum.help_text
            minimum.validators.append(MaxValueValidator(subject.most))
        else:
            del self.fields["minimum"]
        if not subject.has_paths:
            del self.fields["only_paths"], self.fields["skip_paths"]

    def clean_only_paths(self) -> tuple[str, ...]:
        return _checked_paths(self.cleaned_data["only_paths"])

    def clean_skip_paths(self) -> tuple[str, ...]:
        return _checked_paths(self.cleaned_data["skip_paths"])

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        try:
            given["quiet"] = rules.quiet_of(given.get("quiet_from"), given.get("quiet_until"))
        except ValueError:
            self.add_error("quiet_from", _("Enter both times of the quiet hours, or none."))
        return given

    def rows(self) -> list[list[forms.BoundField]]:
        return in_rows(self)

    def rule(self) -> Rule:
        given = self.cleaned_data
        return Rule(
            digest=given["digest"],
            minimum=given.get("minimum") or 1,
            only_paths=given.get("only_paths", ()),
            skip_paths=given.get("skip_paths", ()),
            quiet=given["quiet"],
        )


def values_of(rule: Rule) -> dict[str, Any]:
    """Return a rule as the values of the form."""
    return {
        "digest": rule.digest,
        "minimum": rule.minimum,
        "only_paths": "\n".join(rule.only_paths),
        "skip_paths": "\n".join(rule.skip_paths),
        "quiet_from": rule.quiet.start if rule.quiet else None,
        "quiet_until": rule.quiet.until if rule.quiet else None,
    }


def _checked_paths(text: str) -> tuple[str, ...]:
    try:
        return rules.paths_of(text)
    except ValueError as error:
        raise forms.ValidationError(
            _("This is no path: %(line)s. Begin with / or *; at most %(n)s lines."),
            params={"line": str(error)[:60], "n": rules.PATHS},
        ) from None
