"""The release channels there are; a deployment and a workspace each have one."""

from __future__ import annotations

PROD, STAGING = "prod", "staging"
CHANNELS = (PROD, STAGING)
