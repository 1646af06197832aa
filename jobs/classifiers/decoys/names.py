"""What methods, controls and orders are called on a page."""

import polars as pl

CHANCE = "random"
"""The method of attribution that explains nothing, and the selection that chooses nothing."""

ORACLE = "oracle"
"""The control that knows the decoy, or the labels."""

METHODS = {
    "integrated_gradients": "integrated gradients",
    "gradient_x_input": "gradient × input",
    "occlusion": "occlusion",
    "lime": "LIME",
    "kernel_shap": "kernel SHAP",
    CHANCE: "random attributions",
    "predictions": "predictions alone",
    ORACLE: "an oracle",
}
ORDERS = METHODS | {"influence": "influence", "loss": "the loss", CHANCE: "a random order"}
SELECTIONS = {
    CHANCE: "at random",
    "submodular_pick": "by submodular pick",
    "clustering": "by clusters of relevance",
}
"""How instances are chosen."""


def is_explained() -> pl.Expr:
    """Of rows with a method: whether it explains anything."""
    return ~pl.col("method").is_in([CHANCE, "predictions", ORACLE])
