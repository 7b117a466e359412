"""Where answers are stored. `contract.py` says what a store promises; `sqlite.py` and `mongo.py` keep it."""
