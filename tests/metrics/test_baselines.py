import pytest

from metrics.baselines import IMAGE_BASELINES, baselines, image_rdms
from metrics.stimuli92 import Stimuli92

PUBLISHED = {
    "pixels": 0.106,
    "grey": 0.033,
    "blurred pixels": 0.122,
    "pooled pixels": 0.118,
    "silhouette": 0.125,
    "animacy": 0.588,
    "four categories": 0.405,
    "monkey IT": 0.439,
}


def test_all_baselines_with_their_known_values(stimuli92: Stimuli92) -> None:
    scores = baselines(stimuli92, image_rdms(stimuli92))
    assert list(scores) == list(PUBLISHED)
    assert scores == pytest.approx(PUBLISHED, abs=5e-4)


def test_image_baselines_are_the_ones_that_know_no_categories() -> None:
    assert list(IMAGE_BASELINES) == ["pixels", "grey", "blurred pixels", "pooled pixels", "silhouette"]
