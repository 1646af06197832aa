"""From words of a command line to the checked record of the job that they choose."""

import re
from collections.abc import Sequence

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from tiltmeter.jobs.catalogue import CONFIG, SETTINGS, job, settings_folders
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.settings import composition, extras

_NAMED = re.compile("command-line|hydra.searchpath")
"""What Hydra calls those who name a folder."""


def build(composed: DictConfig, overrides: Sequence[str] = ()) -> CommonConfig:
    """Check a composed config and turn it into the record of the job that it names.

    Args:
        composed: by Hydra.
        overrides: what the user asked for.

    Raises:
        ConfigError: naming every wrong key at once, or every setting whose packages are not installed.
    """
    if isinstance(name := OmegaConf.select(composed, "job.name"), str):
        # Whoever has to install packages first would otherwise set what is missing for nothing.
        extras.check_job(name, job(name).extras)
    settings = composition.plain(composed, lambda name: job(name).config)
    config = composition.build(job(settings["job"]["name"]).config, settings, overrides, settings_folders())
    extras.check_settings(config, settings)
    return config


def further_folders() -> list[str]:
    """Folders of settings beside ours that the running command names, as ``hydra.searchpath`` has them."""
    if not (GlobalHydra.instance().is_initialized() and HydraConfig.initialized()):
        return []
    sources = HydraConfig.get().runtime.config_sources
    return [f"{source.schema}://{source.path}" for source in sources if _NAMED.match(source.provider)]


def compose(words: Sequence[str]) -> CommonConfig:
    """The record of the job that settings choose, also within a command that Hydra has composed for another.

    Args:
        words: such as ``job=survey``; no options.

    Raises:
        ConfigError: as :func:`build`, and for what can't be composed.
    """
    state = GlobalHydra.instance()
    outer, state.hydra = state.hydra, None
    try:
        with hydra.initialize_config_module(SETTINGS, version_base="1.3"):
            return build(hydra.compose(CONFIG, [*words]), words)
    finally:
        # Hydra puts a copy of its state back.
        GlobalHydra.instance().hydra = outer
