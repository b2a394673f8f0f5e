"""The HTTP server of the service: probes, metrics, failures, queries, and pages to browse them."""
