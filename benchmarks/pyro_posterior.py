"""Pyro's NUTS on a classifier of vectors under N(0, I); :mod:`benchmarks.posterior` runs it under a Python with Pyro.

    <python> pyro_posterior.py <weights.npz> <softplus or relu> <transitions>

It writes the draws beside the weights, and prints the seconds of the CPU as JSON.
"""

import json
import sys
import time
from typing import Any

import numpy as np
import pyro
import torch
from pyro.infer import MCMC, NUTS


def main() -> None:
    path, activation, num_draws = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    pyro.set_rng_seed(0)
    parts = {name: torch.from_numpy(array) for name, array in np.load(path).items()}
    activate = torch.relu if activation == "relu" else torch.nn.functional.softplus
    width, num_layers = parts["weights_0"].shape[0], len(parts) // 2

    def score(vector: Any) -> Any:
        for layer in range(num_layers - 1):
            vector = activate(vector @ parts[f"weights_{layer}"] + parts[f"biases_{layer}"])
        return (vector @ parts[f"weights_{num_layers - 1}"] + parts[f"biases_{num_layers - 1}"])[0]

    def model() -> None:
        vector = pyro.sample("vector", pyro.distributions.Normal(torch.zeros(width), 1.0).to_event(1))
        pyro.sample("label", pyro.distributions.Bernoulli(logits=score(vector)), obs=torch.tensor(1.0))

    chain = MCMC(NUTS(model), num_samples=num_draws, warmup_steps=num_draws, disable_progbar=True)
    start = time.process_time()
    chain.run()
    seconds = time.process_time() - start
    np.save(f"{path}.draws.npy", chain.get_samples()["vector"].numpy())
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
