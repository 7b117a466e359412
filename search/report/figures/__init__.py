"""One file a figure; each draws the same data twice: `interactive` for the page (plotly), `printed` for a paper."""
