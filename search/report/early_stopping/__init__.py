"""What stopping early would have saved and cost: rules replayed on the logged runs of a search, beside controls."""
