"""The only writer: cold rows with versions, hot copies, communities, metrics, search and stream in one transaction."""
