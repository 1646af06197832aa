"""Draws of every posterior, one unit for each chain; exact draws give the evidence too."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.jobs.sentiment.posterior.classifiers import load_network
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.priors import EMPIRICAL, load_prior
from tiltmeter.jobs.sentiment.posterior.sources import missing_packages, package_versions
from tiltmeter.jobs.sentiment.posterior.tables import CHAINS, EVIDENCE
from tiltmeter.jobs.sentiment.posterior.vectors import word_vectors
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior import networks, priors
from tiltmeter.operators.sentiment.posterior.diagnostics import bfmi
from tiltmeter.operators.sentiment.posterior.networks import Target
from tiltmeter.operators.sentiment.posterior.priors import Gaussian, Prior, share_beyond
from tiltmeter.operators.sentiment.posterior.samplers import exact, nuts
from tiltmeter.operators.sentiment.posterior.samplers.exact import RAREST, evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import Chain, NutsConfig, nuts_chain
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

LABELS = {"positive": 1, "negative": -1}
EXACT = "exact"

_VERSIONS = {EXACT: exact.VERSION, "nuts": nuts.VERSION}
_XLA = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
"""Several threads divide sums among them, and last bits would depend on their number."""


class Posterior(NamedTuple):
    """What draws are of, and what drew them.

    Attributes:
        seed: number of the classifier.
        prior, label, sampler: their names.
    """

    seed: int
    prior: str
    label: str
    sampler: str

    @property
    def row(self) -> Row:
        return self._asdict()


class Drawn(NamedTuple):
    """Attributes:
    draws: of each posterior, tables ``vector`` and ``energy`` of its chains; none for one that was not drawn from.
    evidence: of each seed and prior, the table of both labels' rows.
    chains: of each posterior, parts of the table ``chains``.
    """

    draws: Mapping[Posterior, Sequence[TableRef]]
    evidence: Mapping[tuple[int, str], Sequence[TableRef]]
    chains: Mapping[Posterior, Sequence[TableRef]]


def draw(
    runner: Runner,
    config: SentimentPosteriorRun,
    models: Sequence[TableRef],
    prior_refs: Mapping[str, TableRef],
    texts: TableRef,
) -> Drawn:
    """Run every chain.

    Args:
        models: of each classifier.
        prior_refs: by name.
        texts: vectors of the texts, which say what is off their support.
    """
    wanted = list(_wanted(config))
    units = {key: [_unit(config, key, chain, models, prior_refs, texts) for chain in range(num)] for key, num in wanted}
    stages = {sampler: {key: units[key] for key in units if key.sampler == sampler} for sampler in config.samplers}
    done: dict[Posterior, Sequence[Finished]] = {}
    for sampler, group in stages.items():
        if group:
            named = {" ".join(map(str, key)): parts for key, parts in group.items()}
            finished = runner.run_whole(Stage(f"draw {sampler}", each(_draw), named))
            runner.check()  # what follows holds both labels and all classifiers against each other
            done |= dict(zip(group, finished.values(), strict=True))
    return Drawn(
        {key: [unit.tables["vectors"] for unit in parts if "vectors" in unit.tables] for key, parts in done.items()},
        {
            (seed, prior): [done[Posterior(seed, prior, label, EXACT)][0].tables["evidence"] for label in LABELS]
            for seed in range(config.classifier.seeds)
            for prior in config.priors
        },
        {key: [unit.tables["chains"] for unit in parts] for key, parts in done.items()},
    )


def load_draws(store: Store, refs: Sequence[TableRef]) -> FloatArray:
    """``[chains, draws, dimensions]``."""
    return np.stack([matrix(store.read(ref.select("vector"))["vector"]).astype(np.float64) for ref in refs])


def _wanted(config: SentimentPosteriorRun) -> Iterator[tuple[Posterior, int]]:
    """Posteriors and the number of chains of each; those of texts themselves have exact draws alone."""
    chains = {EXACT: 1, "nuts": config.nuts.chains}
    for sampler in config.samplers:
        num_seeds = (
            config.classifier.seeds if sampler == EXACT else min(config.chain_classifiers, config.classifier.seeds)
        )
        for seed in range(num_seeds):
            for prior in config.priors:
                if sampler == EXACT or prior != EMPIRICAL:
                    for label in LABELS:
                        yield Posterior(seed, prior, label, sampler), chains[sampler]


def _unit(
    config: SentimentPosteriorRun,
    key: Posterior,
    chain: int,
    models: Sequence[TableRef],
    prior_refs: Mapping[str, TableRef],
    texts: TableRef,
) -> Unit:
    settings = {
        "operators": [networks.VERSION, priors.VERSION, _VERSIONS[key.sampler]],
        "posterior": key.row,
        "chain": chain,
        "sampler": _of_a_chain(getattr(config, key.sampler)),
        "power": config.power,
        "seed": config.seed,
        "missing": missing_packages() if key.sampler == "nuts" else [],
    }
    if key.sampler == "nuts":
        settings["versions"] = package_versions()
    inputs = {"model": [models[key.seed]], "prior": [prior_refs[key.prior]], "texts": [texts.select("vector")]}
    return Unit(
        "posterior_chain/2", f"classifier {key.seed}, {key.prior}, {key.label}, chain {chain}", settings, inputs
    )


def _of_a_chain(settings: Any) -> Any:
    """Without the number of chains, on which none depends: further ones leave those that are done."""
    return replace(settings, chains=1) if hasattr(settings, "chains") else settings


def _draw(store: Store, unit: Unit) -> Tables:
    config, key = unit.config, Posterior(**unit.config["posterior"])
    if config["missing"]:
        yield "chains", table_of([_row(config) | _not_installed(config["missing"])], CHAINS)
        return
    network = load_network(store, unit.input("model"))
    target, prior = (
        Target(network, LABELS[key.label], power=config["power"]),
        load_prior(store, key.prior, unit.input("prior")),
    )
    generator = keyed_generator(
        config["seed"],
        Stream.POSTERIOR_DRAW,
        document_key(f"{key.prior} {key.label} {key.sampler}"),
        key.seed,
        config["chain"],
    )
    texts = word_vectors(store, unit.input("texts"))
    texts = texts[np.isfinite(texts).all(axis=1)]
    if key.sampler == EXACT:
        yield from _exact(generator, prior, target, config, texts)
        return
    chain = _chain(generator, prior, target, config["sampler"])
    yield (
        "chains",
        table_of([_row(config) | _facts(chain) | {"off_support": share_beyond(chain.draws, texts)} | OK], CHAINS),
    )
    yield "vectors", _draws(chain.draws, chain.energies)


def _chain(generator: np.random.Generator, prior: Prior, target: Target, settings: NutsConfig) -> Chain:
    for name, value in _XLA.items():
        os.environ.setdefault(name, value)
    return nuts_chain(generator, cast(Gaussian, prior), target, settings)  # chains are wanted of no other prior


def _exact(
    generator: np.random.Generator, prior: Prior, target: Target, config: dict[str, Any], texts: FloatArray
) -> Tables:
    num = config["sampler"].draws
    share = evidence(generator, prior, target, config["sampler"].proposals)
    key = config["posterior"]
    row = {"seed": key["seed"], "prior": key["prior"], "label": key["label"], "method": "draws"}
    yield "evidence", table_of([row | share._asdict()], EVIDENCE)
    if share.probability < RAREST:
        reason = (
            f"P({key['label']}) = {share.probability:.2g} under {key['prior']!r}: rejection would keep next to "
            "nothing; chains may draw it"
        )
        yield "chains", table_of([_row(config) | failed("too_rare", reason)], CHAINS)
        return
    draws = exact_draws(generator, prior, target, num, share.probability)
    facts = {
        "num_draws": num,
        "acceptance": share.probability,
        "steps": 1.0 / share.probability,
        "num_diverged": 0,
        "num_saturated": 0,
        "off_support": share_beyond(draws, texts),
    }
    yield "chains", table_of([_row(config) | facts | OK], CHAINS)
    yield "vectors", _draws(draws, np.zeros(num))


def _row(config: dict[str, Any]) -> Row:
    return {**config["posterior"], "chain": config["chain"]}


def _not_installed(packages: Sequence[str]) -> Row:
    return failed(
        "not_installed",
        f"NUTS needs {' and '.join(packages)}: pip install 'tiltmeter[posterior]', or set samplers=[exact]",
    )


def _facts(chain: Chain) -> Row:
    return {
        "num_draws": len(chain.draws),
        "acceptance": float(chain.acceptance.mean()),
        "steps": float(chain.num_steps.mean()),
        "num_diverged": int(chain.diverged.sum()),
        "num_saturated": int(chain.saturated.sum()),
        "bfmi": float(bfmi(chain.energies[np.newaxis])[0]),
    }


def _draws(vectors: FloatArray, energies: FloatArray) -> pa.Table:
    """Of half the digits, which are more than any mean of draws has."""
    return pa.table({"vector": vector_column(vectors.astype(np.float32)), "energy": energies})
