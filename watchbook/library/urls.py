"""Addresses of the library pages."""

from __future__ import annotations

from django.urls import path

from watchbook.library.views import (
    folder,
    history,
    merge,
    migrations,
    page,
    sharing,
    shelf,
    shelving,
    space,
    targets,
    transfer,
    trash,
    tree,
    workspace,
)

app_name = "library"

urlpatterns = [
    path("", shelf.shelves, name="shelves"),
    path("favourites/", shelf.favourites, name="favourites"),
    path("search/", shelf.search, name="search"),
    path("clip/", transfer.clip, name="clip"),
    path("shared/<str:token>/", sharing.shared, name="shared"),
    path("shares/<uuid:link_id>/revoke/", sharing.revoke, name="revoke"),
    path("workspaces/new/", shelf.create_workspace, name="create_workspace"),
    path("workspaces/<uuid:workspace_id>/", workspace.workspace, name="workspace"),
    path("workspaces/<uuid:workspace_id>/rename/", workspace.rename, name="rename_workspace"),
    path("workspaces/<uuid:workspace_id>/spaces/", shelf.create_space, name="create_space"),
    path("workspaces/<uuid:workspace_id>/members/", workspace.member, name="member"),
    path("workspaces/<uuid:workspace_id>/members/remove/", workspace.remove_member, name="remove_member"),
    path("workspaces/<uuid:workspace_id>/flags/", workspace.flags, name="flags"),
    path("workspaces/<uuid:workspace_id>/channel/", workspace.channel, name="channel"),
    path("workspaces/<uuid:workspace_id>/reconciliation/", workspace.reconciliation, name="reconciliation"),
    path("workspaces/<uuid:workspace_id>/archive/", shelving.archive_workspace, name="archive_workspace"),
    path("workspaces/<uuid:workspace_id>/delete/", shelving.delete_workspace, name="delete_workspace"),
    path("workspaces/<uuid:workspace_id>/restore/", shelving.restore_workspace, name="restore_workspace"),
    path("spaces/<uuid:space_id>/", folder.space, name="space"),
    path("spaces/<uuid:space_id>/archive/", shelving.archive_space, name="archive_space"),
    path("spaces/<uuid:space_id>/delete/", shelving.delete_space, name="delete_space"),
    path("spaces/<uuid:space_id>/restore/", shelving.restore_space, name="restore_space"),
    path("spaces/<uuid:space_id>/tree/", tree.space_tree, name="space_tree"),
    path("spaces/<uuid:space_id>/new/", folder.create, name="create"),
    path("spaces/<uuid:space_id>/bulk/", folder.bulk, name="bulk"),
    path("spaces/<uuid:space_id>/targets/", targets.targets, name="targets"),
    path("spaces/<uuid:space_id>/trash/", trash.trash, name="trash"),
    path("spaces/<uuid:space_id>/trash/empty/", trash.empty, name="empty_trash"),
    path("spaces/<uuid:space_id>/import/", transfer.import_file, name="import"),
    path("spaces/<uuid:space_id>/export/", transfer.export, name="export"),
    path("spaces/<uuid:space_id>/settings/", space.settings, name="space_settings"),
    path("spaces/<uuid:space_id>/rename/", space.rename, name="rename_space"),
    path("spaces/<uuid:space_id>/members/", space.member, name="space_member"),
    path("spaces/<uuid:space_id>/members/remove/", space.remove_member, name="remove_space_member"),
    path("spaces/<uuid:space_id>/migrations/", migrations.migrations, name="migrations"),
    path("migrations/<uuid:job_id>/", migrations.migration, name="migration"),
    path("migrations/<uuid:job_id>/live/", migrations.live, name="migration_live"),
    *(
        path(f"migrations/<uuid:job_id>/{name}/", migrations.step, {"name": name}, name=f"migration_{name}")
        for name in ("pause", "resume", "cancel", "retry", "rollback")
    ),
    path("pages/<uuid:page_id>/", page.page, name="page"),
    path("pages/<uuid:page_id>/tree/", tree.page_tree, name="page_tree"),
    path("pages/<uuid:page_id>/save/", page.save, name="save"),
    path("pages/<uuid:page_id>/merge/", merge.merge, name="merge"),
    path("pages/<uuid:page_id>/rename/", page.rename, name="rename"),
    path("pages/<uuid:page_id>/move/", page.move, name="move"),
    path("pages/<uuid:page_id>/duplicate/", page.duplicate, name="duplicate"),
    path("pages/<uuid:page_id>/trash/", page.trash, name="trash_page"),
    path("pages/<uuid:page_id>/restore/", trash.restore, name="restore"),
    path("pages/<uuid:page_id>/purge/", trash.purge, name="purge"),
    path("pages/<uuid:page_id>/pin/", page.pin, name="pin"),
    path("pages/<uuid:page_id>/favourite/", page.favourite, name="favourite"),
    path("pages/<uuid:page_id>/share/", sharing.share, name="share"),
    path("pages/<uuid:page_id>/history/", history.history, name="history"),
    path("pages/<uuid:page_id>/history/<int:number>/restore/", history.restore_version, name="restore_version"),
]
