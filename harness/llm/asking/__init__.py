"""Submit batches of requests to an endpoint's Batch API, poll them and collect their answers."""
