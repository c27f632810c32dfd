"""Forum: an archive of NGA boards: topic lists, every floor, revisions, gaps."""
