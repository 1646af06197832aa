"""What the page of `decoy_benchmark` calls things."""

_NAMES = {
    "integrated_gradients": "integrated gradients",
    "gradient_x_input": "gradient × input",
    "occlusion": "occlusion",
    "lime": "LIME",
    "kernel_shap": "kernel SHAP",
    "random": "random attributions",
}
_ORDERS = {
    "random": "at random",
    "submodular_pick": "by submodular pick",
    "clustering": "by clusters of relevance",
}


def name_of(method: str) -> str:
    """A method of attribution."""
    return _NAMES[method]


def order_name(selection: str) -> str:
    """How instances are chosen."""
    return _ORDERS[selection]
