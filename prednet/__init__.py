"""The network (Lotter, Kreiman and Cox 2017) and its data; knows nothing of searches."""
