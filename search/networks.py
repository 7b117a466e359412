"""A sampled point -> the network and the training that it stands for."""

from dataclasses import dataclass
from typing import Any

from prednet.config import PredNetConfig
from prednet.train import TrainConfig
from search.config import SearchConfig


@dataclass(frozen=True)
class TrialPlan:
    """One trial, concrete: the network, its optimisation, and how long and on how much it trains."""

    network: PredNetConfig
    training: TrainConfig
    epochs: int
    batch_size: int
    train_sequences: int
    val_sequences: int


def plan_trial(config: SearchConfig, params: dict[str, Any]) -> TrialPlan:
    """Combine the fixed part of a configuration with the sampled `params` (names of `search.config`)."""
    network, training = config.network, config.training
    layers = len(network.channels)

    def filters(unit: str, count: int) -> tuple[int, ...]:
        return tuple(int(params.get(f"filter_size_{unit}{n}", network.filter_size)) for n in range(1, count + 1))

    return TrialPlan(
        network=PredNetConfig(
            stack_sizes=network.channels,
            r_stack_sizes=network.r_channels or network.channels,
            a_filter_sizes=filters("A", layers - 1),
            ahat_filter_sizes=filters("Ahat", layers),
            r_filter_sizes=filters("R", layers),
            pixel_max=network.pixel_max,
        ),
        training=TrainConfig(
            loss=params.get("loss", training.loss),
            adam=training.adam,
            learning_rate=float(params.get("learning_rate", training.learning_rate)),
            lr_drop_epoch=training.lr_drop_epoch,
            lr_drop_factor=training.lr_drop_factor,
            precision=training.precision,
            grad_clip=training.grad_clip,
            recompute_every=training.recompute_every,
            deterministic=training.deterministic,
        ),
        epochs=int(params.get("epochs", training.epochs)),
        batch_size=int(params.get("batch_size", training.batch_size)),
        train_sequences=int(params.get("train_sequences", training.train_sequences)),
        val_sequences=int(params.get("val_sequences", training.val_sequences)),
    )
