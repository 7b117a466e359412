"""`hms plan`: what a search will cost, before it starts."""
