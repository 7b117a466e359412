"""Each figure twice from the same prepared data: for the page (plotly) and for print (matplotlib)."""
