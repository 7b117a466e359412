"""The second part: do visualizations help people predict what an occlusion does to a unit? Not built yet."""
