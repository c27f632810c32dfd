"""Scripted faults for any path or n-th request. A script reads like a sentence:

site.faults.on("/sitemap.xml", nth=2).answer(503)
site.faults.on("/feed", first=3).throttle(retry_after=60)
with site.faults.on("/page*").cut(keep=0.5): ...
site.faults.on_connection(nth=1).hang()
"""

from standins.faults.bodies import gzip_bomb
from standins.faults.redirects import INWARD_ADDRESSES
from standins.faults.rules import ConnectionRule, Faults, Rule

__all__ = ["INWARD_ADDRESSES", "ConnectionRule", "Faults", "Rule", "gzip_bomb"]
