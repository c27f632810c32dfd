"""Jobs of the library: folder migrations, trash, import and export."""
