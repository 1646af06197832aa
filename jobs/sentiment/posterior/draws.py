"""Draws of inputs from the posteriors of classifiers: priors, samplers, what draws say of themselves, and a picture.

There is one unit for each chain; exact draws give the evidence too.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Done, Subject, Work
from tiltmeter.jobs.sentiment.posterior.classifiers import known_texts, load_network
from tiltmeter.jobs.sentiment.posterior.config import Exact, SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.tables import Chains, Diagnosed, Evidence, Projection
from tiltmeter.jobs.sentiment.posterior.texts import WHOLE, PosteriorRun, Texts, known_vectors, word_vectors
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior import diagnostics, networks, priors
from tiltmeter.operators.sentiment.posterior.diagnostics import Diagnostics, bfmi
from tiltmeter.operators.sentiment.posterior.networks import Target
from tiltmeter.operators.sentiment.posterior.plane import Plane, principal_plane
from tiltmeter.operators.sentiment.posterior.priors import Gaussian, Points, Prior, share_beyond
from tiltmeter.operators.sentiment.posterior.samplers import exact, nuts
from tiltmeter.operators.sentiment.posterior.samplers.exact import RAREST, evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig, nuts_chain
from tiltmeter.storage.store.ledger import Store, TableRef

LABELS = {"positive": 1, "negative": -1}
EXACT = "exact"
EMPIRICAL = "empirical"

_XLA = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
"""Several threads divide sums among them, and last bits would depend on their number."""

_NUM_POINTS = 200
"""Of each kind, in the picture."""


# --- priors ---------------------------------------------------------------------------------------------------------


class FitPrior(Work, unit=priors.VERSION, stage="priors"):
    """The table ``prior``: the mean and then the rows of the factor, or the texts themselves."""

    name: priors.Name
    texts: TableRef
    words: TableRef
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        words = word_vectors(store, self.words)
        known = np.isfinite(words).all(axis=1)
        counts = np.asarray(store.read(self.vocabulary)["count"], dtype=np.float64)
        prior = priors.prior_of(self.name, known_vectors(store, self.texts), words[known], counts[known])
        vectors = prior.vectors if isinstance(prior, Points) else np.vstack([prior.mean, prior.factor])
        yield "prior", pa.table({"vector": vector_column(vectors)})


def fit_priors(run: PosteriorRun, texts: Texts) -> dict[str, TableRef]:
    """The table of each prior, by name."""
    done = run.do(
        FitPrior(
            group="priors",
            label=name,
            name=name,
            texts=texts.vectors[WHOLE].select("vector"),
            words=texts.word_vectors[WHOLE],
            vocabulary=texts.vocabulary.select("count"),
        )
        for name in run.config.priors
    )
    return {work.name: unit.tables["prior"] for work, unit in done.pairs}


def load_prior(store: Store, name: str, ref: TableRef) -> Prior:
    """The prior of a table of :class:`FitPrior`."""
    vectors = word_vectors(store, ref)
    return Points(vectors) if name == EMPIRICAL else Gaussian(vectors[0], vectors[1:])


# --- draws ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Posterior:
    """What draws are of, and what drew them; ``seed`` is the number of the classifier."""

    seed: int
    prior: str
    label: str
    sampler: str

    def __str__(self) -> str:
        return " ".join(map(str, vars(self).values()))


class DrawChain(Work, unit="posterior_chain/2"):
    """A chain, or the exact draws, of a posterior: the row of ``chains``, and ``vectors`` of vector and energy.

    With other versions of the packages that NUTS needs, it may draw otherwise; vectors of texts say what is off their
    support.
    """

    operators: Sequence[str]
    posterior: Posterior
    chain: int
    sampler: Exact | NutsConfig
    power: float
    seed: int
    missing: Sequence[str]
    versions: Mapping[str, str] | None = None
    model: TableRef
    prior: TableRef
    texts: TableRef

    def tables(self, store: Store) -> Tables:
        key, row = self.posterior, Chains(**vars(self.posterior), chain=self.chain)
        if self.missing:
            needed = " and ".join(self.missing)
            reason = f"NUTS needs {needed}: pip install 'tiltmeter[posterior]', or set samplers=[exact]"
            yield from tables_of([row.fail("not_installed", reason)], [Chains])
            return
        target = Target(load_network(store, self.model), LABELS[key.label], power=self.power)
        prior = load_prior(store, key.prior, self.prior)
        about = f"{key.prior} {key.label} {key.sampler}"
        generator = priors.generator_of(self.seed, about, key.seed, self.chain)
        if isinstance(self.sampler, NutsConfig):
            draws, energies = _run_chain(row, generator, cast(Gaussian, prior), target, self.sampler)
        else:
            share = evidence(generator, prior, target, self.sampler.proposals)
            fraction = Evidence(seed=key.seed, prior=key.prior, label=key.label, method="draws", **share._asdict())
            yield from tables_of([fraction], [Evidence])
            draws = _draw_exactly(row, generator, prior, target, self.sampler.draws, share.probability)
            energies = np.zeros(len(draws))
        if row.status == "ok":
            row.off_support = share_beyond(draws, known_vectors(store, self.texts))
            # Of half the digits, which are more than any mean of draws has.
            vectors = vector_column(draws.astype(np.float32))
            yield "vectors", pa.table({"vector": vectors, "energy": energies})
        yield from tables_of([row], [Chains])


def _draw_exactly(
    row: Chains, generator: np.random.Generator, prior: Prior, target: Target, num: int, probability: float
) -> FloatArray:
    """Fill the row, and draw unless it says why not."""
    if probability < RAREST:
        row.fail(
            "too_rare",
            f"P({row.label}) = {probability:.2g} under {row.prior!r}: rejection would keep next to nothing; chains may "
            "draw it",
        )
        return np.empty((0, 0))
    row.num_draws, row.acceptance, row.steps = num, probability, 1.0 / probability
    row.num_diverged, row.num_saturated = 0, 0
    return exact_draws(generator, prior, target, num, probability)


def _run_chain(
    row: Chains, generator: np.random.Generator, prior: Gaussian, target: Target, settings: NutsConfig
) -> tuple[FloatArray, FloatArray]:
    """Draws and their energies; fills the row."""
    for name, value in _XLA.items():
        os.environ.setdefault(name, value)
    chain = nuts_chain(generator, prior, target, settings)
    row.num_draws = len(chain.draws)
    row.acceptance, row.steps = float(chain.acceptance.mean()), float(chain.num_steps.mean())
    row.num_diverged, row.num_saturated = int(chain.diverged.sum()), int(chain.saturated.sum())
    row.bfmi = float(bfmi(chain.energies[np.newaxis])[0])
    return chain.draws, chain.energies


Drawn = Mapping[Posterior, Done[DrawChain]]
"""The chains of each posterior."""


def draw(run: PosteriorRun, models: Sequence[TableRef], prior_refs: Mapping[str, TableRef], texts: Texts) -> Drawn:
    """Run every chain of each classifier, under each prior; publishes ``chains``."""
    config, num = run.config, len(models)
    num_seeds = {EXACT: num, "nuts": min(config.chain_classifiers, num)}
    drawn: dict[Posterior, Done[DrawChain]] = {}
    for sampler in config.samplers:
        keys = [
            Posterior(seed, prior, label, sampler)
            for seed in range(num_seeds[sampler])
            for prior in prior_refs
            if sampler == EXACT or prior != EMPIRICAL
            for label in LABELS
        ]
        vectors = texts.vectors[WHOLE].select("vector")
        works = (
            work for key in keys for work in _chains(config, key, models[key.seed], prior_refs[key.prior], vectors)
        )
        done = run.do(works, stage=f"draw {sampler}")
        run.runner.check()  # what follows compares both labels and all classifiers
        drawn |= {part.pairs[0][0].posterior: part for part in done.groups.values()}
    run.publish("chains", [ref for done in drawn.values() for ref in done.refs(Chains)])
    return drawn


def _chains(
    config: SentimentPosteriorRun, key: Posterior, model: TableRef, prior: TableRef, texts: TableRef
) -> Iterator[DrawChain]:
    is_exact, versions = key.sampler == EXACT, package_versions()
    for chain in range(1 if is_exact else config.nuts.chains):
        yield DrawChain(
            group=str(key),
            label=f"classifier {key.seed}, {key.prior}, {key.label}, chain {chain}",
            operators=(networks.VERSION, priors.VERSION, exact.VERSION if is_exact else nuts.VERSION),
            posterior=key,
            chain=chain,
            # Without the number of chains: further ones leave those that are done.
            sampler=config.exact if is_exact else replace(config.nuts, chains=1),
            power=config.power,
            seed=config.seed,
            missing=[] if is_exact else [name for name in nuts.PACKAGES if name not in versions],
            versions=None if is_exact else versions,
            model=model,
            prior=prior,
            texts=texts,
        )


def package_versions() -> dict[str, str]:
    """Of what NUTS draws with, as far as it is there."""
    return {package: version(package) for package in nuts.PACKAGES if find_spec(package) is not None}


def load_draws(store: Store, refs: Sequence[TableRef]) -> FloatArray:
    """``[chains, draws, dimensions]``."""
    return np.stack([word_vectors(store, ref) for ref in refs])


def evidence_of(drawn: Drawn, seed: int, prior: str) -> list[TableRef]:
    """The tables of both labels."""
    return [drawn[Posterior(seed, prior, label, EXACT)].one(Evidence) for label in LABELS]


# --- diagnostics ----------------------------------------------------------------------------------------------------


class Diagnose(Work, unit="posterior_diagnosis/1", stage="diagnose", makes=[Diagnosed]):
    """What the draws of a posterior say of themselves, and how they agree with exact ones, if they are not these."""

    operator: str = diagnostics.VERSION
    posterior: Posterior
    draws: Sequence[TableRef]
    exact: Sequence[TableRef]
    model: TableRef
    chains: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Diagnosed]:
        network = load_network(store, self.model)
        values = dict(diagnostics.quantities(network, load_draws(store, self.draws)))
        others = dict(diagnostics.quantities(network, load_draws(store, self.exact))) if self.exact else {}
        summaries = {name: diagnostics.diagnosed(numbers) for name, numbers in values.items()}
        problems = self._faults(store, list(summaries.values()))
        for name, numbers in summaries.items():
            row = Diagnosed(**vars(self.posterior), quantity=name, **numbers._asdict())
            if others:
                row.z_exact, row.ks_p = diagnostics.agreement(values[name], numbers, others[name].ravel())
            yield row.fail("not_converged", "; ".join(problems)) if problems else row

    def _faults(self, store: Store, summaries: list[Diagnostics]) -> list[str]:
        """Exact draws are independent by construction, and have nothing to converge to."""
        if self.posterior.sampler == EXACT:
            return []
        chains = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.chains])
        energies = np.stack([np.asarray(store.read(ref.select("energy"))["energy"]) for ref in self.draws])
        num_diverged, num_saturated = chains.select("num_diverged", "num_saturated").sum().row(0)
        return diagnostics.faults(summaries, num_diverged, num_saturated, bfmi(energies))


def diagnose(run: PosteriorRun, drawn: Drawn) -> dict[Posterior, TableRef]:
    """Of each posterior that was drawn from, its part of the table ``diagnostics``."""
    done = run.do(
        Diagnose(
            group="chains",
            label=str(key),
            posterior=key,
            draws=chains.refs("vectors"),
            exact=drawn[replace(key, sampler=EXACT)].refs("vectors") if key.sampler != EXACT else [],
            model=chains.pairs[0][0].model,
            chains=chains.refs(Chains),
        )
        for key, chains in drawn.items()
        if chains.refs("vectors")
    )
    return {work.posterior: unit.tables["diagnostics"] for work, unit in done.pairs}


# --- a picture ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownDraws(Subject):
    """Exact draws of the first classifier, by posterior: roles of inputs are priors and labels."""

    draws: Mapping[Posterior, Sequence[TableRef]]

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"draws": [[key.prior, key.label] for key in self.draws]}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        return {f"{key.prior} {key.label}": refs for key, refs in self.draws.items()}


class Project(Work, unit="posterior_projection/1", stage="project", makes=[Projection]):
    """Texts, and draws of posteriors, in two dimensions."""

    shown: ShownDraws
    texts: TableRef
    vectors: TableRef

    def rows(self, store: Store) -> Iterator[Projection]:
        texts = known_texts(store, self.texts, self.vectors)
        plane = principal_plane(texts.vectors)
        for label, sign in LABELS.items():
            yield from _points(texts.vectors[texts.is_positive == (sign == 1)], plane, "", label, "text")
        for key, refs in self.shown.draws.items():
            yield from _points(load_draws(store, refs)[0], plane, key.prior, key.label, "draw")


def project(run: PosteriorRun, drawn: Drawn, texts: Texts) -> None:
    """Publish the table ``projection``."""
    draws = {key: done.refs("vectors") for key, done in drawn.items() if key.seed == 0 and key.sampler == EXACT}
    shown = ShownDraws({key: refs for key, refs in draws.items() if refs})
    labels, vectors = texts.rows.select("is_positive", "fold"), texts.vectors[WHOLE]
    run.do([Project(group="draws", label="picture", shown=shown, texts=labels, vectors=vectors)])


def _points(vectors: FloatArray, plane: Plane, prior: str, label: str, kind: str) -> Iterator[Projection]:
    chosen = vectors[np.linspace(0, len(vectors) - 1, min(_NUM_POINTS, len(vectors))).astype(np.int64)]
    for point, (vector, (x, y)) in enumerate(zip(chosen, plane.places(chosen), strict=True)):
        row = Projection(prior=prior, label=label, kind=kind, point=point)
        row.x, row.y, row.norm = float(x), float(y), float(np.linalg.norm(vector))
        yield row
