"""What Zimmermann, Borowski et al. (NeurIPS 2021) published, to show beside: its answers are not public."""

PAPER = "Zimmermann, Borowski et al. (NeurIPS 2021)"

# Accuracy and two standard errors, shares; only where the paper gives one value.
ACCURACY = {"synthetic": (0.67, 0.04), "none": (0.60, 0.03)}
ACCURACY_TEXT = {
    "synthetic": ("67 ± 4 %", "68 ± 4 in the abstract"),
    "none": ("60 ± 3 %", ""),
    "natural": ("66 ± 3 to 67 ± 5 %", ""),
    "mixed": ("66 ± 3 to 67 ± 5 %", ""),
    "blurred": ("66 ± 3 to 67 ± 5 %", ""),
}
BASELINE_TEXT = {"object": "63 %", "variance": "63 %"}
KAPPA_TEXT = "up to 0.40"
REACTION_TIME_TEXT = "4 to 9 s"
