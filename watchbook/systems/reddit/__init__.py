"""Reddit: a pool of communities crawled by tier; cold store with versions, hot cache, metrics, monitors."""
