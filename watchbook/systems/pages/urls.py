"""URLs under /pages/."""

from __future__ import annotations

from django.urls import path

from watchbook.systems.pages.views import edit, history, reports, sites

app_name = "pages"

urlpatterns = [
    path("", sites.sites, name="sites"),
    path("add/", edit.add, name="add"),
    path("add/page/", edit.add_page, name="add_page"),
    path("sites/<int:site_id>/", sites.site, name="site"),
    path("changes/", reports.changes, name="all_changes"),
    path("compare/", reports.compare, name="compare"),
    path("sites/<int:site_id>/changes/", reports.changes, name="changes"),
    path("sites/<int:site_id>/sections/", reports.sections, name="sections"),
    path("sites/<int:site_id>/noise/", sites.noise, name="noise"),
    path("sites/<int:site_id>/rules/", edit.rules, name="rules"),
    path("sites/<int:site_id>/rules/<int:rule_id>/", edit.rules, name="change_rule"),
    path("sites/<int:site_id>/rules/<int:rule_id>/feed/", reports.rule_feed, name="rule_feed"),
    path("sites/<int:site_id>/rules/<int:rule_id>/delete/", edit.delete_rule, name="delete_rule"),
    path("sites/<int:site_id>/feed/", reports.site_feed, name="site_feed"),
    path("<int:page_id>/feed/", reports.page_feed, name="page_feed"),
    path("feeds/<int:pk>/revoke/", reports.revoke_feed, name="revoke_feed"),
    path("feeds/<str:token>/<str:kind>/<int:number>.atom", reports.feed, name="feed"),
    path("sites/<int:site_id>/edit/", edit.edit, name="edit"),
    path("sites/<int:site_id>/delete/", edit.delete, name="delete"),
    *(
        path(f"sites/<int:site_id>/{name}/", edit.step, {"name": name}, name=name)
        for name in ("check", "pause", "resume")
    ),
    path("<int:page_id>/", history.page, name="page"),
    path("<int:page_id>/evidence/<int:number>.<str:form>", history.evidence, name="evidence"),
    path("<int:page_id>/screenshots/<int:number>-<str:show>.png", history.screenshot, name="screenshot"),
    path("<int:page_id>/timeline/", reports.timeline, name="timeline"),
    path("<int:page_id>/check/", edit.page_step, {"name": "check_page"}, name="check_page"),
    path("<int:page_id>/forget-noise/", edit.page_step, {"name": "forget_noise"}, name="forget_noise"),
    path("<int:page_id>/delete/", edit.delete_page, name="delete_page"),
]
