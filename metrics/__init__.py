"""Pure metrics and the stimuli that they need; knows nothing of PredNet."""
