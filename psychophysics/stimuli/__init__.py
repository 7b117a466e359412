"""From a network, its units and a pool of images to the frozen stimuli of a study."""
