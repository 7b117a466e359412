"""`hms serve`: a search in the browser while it runs. Reads the store, writes nothing to it; `search.report` draws no
part of the page itself, it is handed exported tables as ever.
"""
