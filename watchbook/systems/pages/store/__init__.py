"""The only writer of pages: versions, states, search, activity and notifications in one transaction."""
