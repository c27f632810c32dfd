"""Library: workspaces, spaces, a tree of folders and pages, and what is done with them."""
