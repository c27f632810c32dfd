"""Pages of users, invitations and groups for operators; the way in with an invitation; leaving."""

from __future__ import annotations

from django.urls import path

from watchbook.core.people import invite_views, sso_views, views

urlpatterns = [
    path("people/", views.people, name="people"),
    path("people/invite/", views.invite_person, name="people_invite"),
    path("people/invitations/<uuid:pk>/", views.change_invitation, name="invitation_change"),
    path("people/groups/", views.add_group, name="group_add"),
    path("people/groups/<uuid:pk>/", views.group, name="group"),
    path("people/<uuid:pk>/", views.change_person, name="person_change"),
    path("people/<uuid:pk>/remove/", views.remove_person, name="person_remove"),
    path("account/delete/", views.delete_account, name="account_delete"),
    path("accounts/oidc/", sso_views.start, name="oidc_start"),
    path("accounts/oidc/callback/", sso_views.callback, name="oidc_callback"),
    path("accounts/oidc/signed-out/", sso_views.signed_out, name="oidc_signed_out"),
    path("invite/<slug:token>/", invite_views.InviteView.as_view(), name="invite"),
]
