"""What ``tiltmeter --help`` prints: the jobs and the settings of all, or all that one job can be asked.

It is read from the files of settings and their comments, without composing them.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from textwrap import wrap

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.settings.files import Setting, SettingsFolders
from tiltmeter.jobs.runtime.settings.known import COMMANDS
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.storage.errors import Refusal, meant

_ABOUT = """\
Tiltmeter measures how far language technology leans, and how sure it is of it.

  tiltmeter <job> [key=value ...]

Without a name: the survey, offline, on a sample of the English Wikipedia."""

_JOBS = {
    "Word vectors": "survey bootstrap association psychophysics gender_survey mitigation vector_quality "
    "private_vectors corpus_export",
    "Classifiers": "attribution word_influence error_characterisation decoy_benchmark gender_adversary privacy_metrics",
    "Sentiment": "sentiment_rating gru_training sentiment_posterior",
    "Sentences, relations and records": "sentence_pairs relation_rules entity_resolution",
    "Runs": "plan overnight compare prune",
}
"""Groups of jobs; those of other packages have one more."""

_COMMANDS = {
    "init <file>": "settings for a corpus, a table or logs that it looks at",
    "doctor": "what this machine has and lacks, with remedies",
    "runs <folder>": "a page of all runs below a folder, to search",
    "lookup <run> <record>": "which cluster of a run one record would join",
    "completion bash": "completes jobs, settings and values; or zsh",
}

_MORE = {
    "tiltmeter <job> --help": "one job: its settings and its tables",
    "tiltmeter <job> --cfg job": "all settings as a run would have them",
    "tiltmeter plan <job>": "what it would take, before any work",
    "tiltmeter --multirun seed=0,1": "a run for each value",
    "--config-dir <folder>": "settings of your own, such as corpora and word sets",
    "--hydra-help, --version": "other options, and the version",
}

_FIRST_COLUMN = 30


def print_help(words: Sequence[str], config_dir: str | None = None) -> None:
    """Print the page of a job if words choose one, or else that of the command.

    Args:
        words: of the command line.
        config_dir: a further folder of settings.

    Raises:
        Refusal: for a job that there is not.
    """
    folders = catalogue.settings_folders([config_dir] if config_dir else [])
    chosen = _chosen(words, folders)
    if "job" not in chosen:
        bare = [word for word in takewhile(lambda word: word[:1] != "-", words) if "=" not in word and word[:1] != "~"]
        if bare and bare[0] not in COMMANDS:
            known = meant(bare[0], [*folders.options("job"), *COMMANDS])
            raise Refusal(f"{bare[0]}: there is no such job or command{known}")
        print("\n".join(_command(folders)))
        return
    [name] = chosen.pop("job")
    if name not in (jobs := folders.options("job")):
        raise Refusal(f"job={name}: there is no such job{meant(name, jobs) or ';'} tiltmeter --help lists them")
    print("\n".join(_job(name, chosen, folders)))
    # It takes longer to load a job than to read all the rest.
    print("\n".join(_tables(name)))


def _chosen(words: Iterable[str], folders: SettingsFolders) -> dict[str, list[str]]:
    """What words choose of groups: ``embedding=glove``, ``corpus=[enwiki,dewiki]``."""
    parts = (word.lstrip("+").partition("=") for word in words)
    chosen = {key: options.strip("[]'\"").split(",") for key, _, options in parts}
    return {key: options for key, options in chosen.items() if key.partition("@")[0] in folders.groups}


# --- the command ----------------------------------------------------------------------------------------------------


def _command(folders: SettingsFolders) -> Iterator[str]:
    yield from (_ABOUT, "")
    jobs = {name: folders.file(f"job/{name}").about for name in folders.options("job")}
    theirs = " ".join(name for name in jobs if name not in catalogue.OURS)
    for group, names in (_JOBS | ({"Of other packages": theirs} if theirs else {})).items():
        yield f"{group}:"
        yield from _columns({name: jobs[name] for name in names.split()}, max(map(len, jobs)))
    yield from ("", "Settings of all jobs")
    usual = folders.gathered(catalogue.CONFIG, {})
    settings = [setting for key, setting in usual.settings.items() if setting.meaning and not key.startswith("hydra")]
    cluster = [setting for setting in folders.file("cluster/local").settings if setting.meaning]
    yield from _settings(_at_a_glance([*settings, *cluster]))
    yield from ("", "Commands: tiltmeter <command>")
    yield from _columns(_COMMANDS, max(map(len, _COMMANDS)))
    yield from ("", "More")
    yield from _columns(_MORE, max(map(len, _MORE)))
    yield from _wrapped("Each job has a page of its measure, settings and tables: docs/<name>.md.", "  ")


def _at_a_glance(settings: Sequence[Setting]) -> Iterator[Setting]:
    """A block that is explained stands for what it holds."""
    blocks = tuple(f"{setting.key}." for setting in settings if setting.is_block)
    yield from (setting for setting in settings if not setting.key.startswith(blocks))


# --- one job --------------------------------------------------------------------------------------------------------


def _job(name: str, chosen: Mapping[str, Sequence[str]], folders: SettingsFolders) -> Iterator[str]:
    file, gathered = folders.file(f"job/{name}"), folders.gathered(f"job/{name}", chosen)
    yield from _wrapped(f"{name}: {file.about or 'a job'}.", "")
    yield from ("", f"  {file.example or f'tiltmeter job={name} [key=value ...]'}", "", "Settings")
    settings = [setting for key, setting in gathered.settings.items() if key not in ("job", "job.name")]
    yield from _settings(_by_block(settings, ["job", *(setting.key.partition(".")[0] for setting in file.settings)]))
    for group, options in gathered.groups.items():
        yield from ("", *_group(group, options, folders))
        yield from _settings(_of_choices(group, options, chosen, folders))
    for key in [key for key in chosen if key not in gathered.groups]:
        yield from ("", *_group(f"+{key}", chosen[key], folders))
        yield from _settings(_of_choices(key, chosen[key], chosen, folders))
    yield from ("", f"All settings with their values: tiltmeter job={name} --cfg job")
    yield "Settings of all jobs, such as run_dir and seed: tiltmeter --help"


def _by_block(settings: Iterable[Setting], blocks: Sequence[str]) -> list[Setting]:
    """Those of a block together, in the order of the job's own file; others last."""
    order = {block: position for position, block in reversed([*enumerate(blocks)])}
    return sorted(settings, key=lambda setting: order.get(setting.key.partition(".")[0], len(blocks)))


def _group(group: str, options: Sequence[str], folders: SettingsFolders) -> Iterator[str]:
    others = [option for option in folders.options(group.strip("+").partition("@")[0]) if option not in options]
    shown = options[0] if len(options) == 1 else f"[{','.join(options)}]"
    yield from _wrapped(f"{group}={shown}{'; or ' if others else ''}{', '.join(others)}", "")


def _of_choices(
    group: str, options: Sequence[str], chosen: Mapping[str, Sequence[str]], folders: SettingsFolders
) -> Iterator[Setting]:
    """The settings of what is chosen that somebody wrote a comment to; others are data, such as word lists."""
    name, _, package = group.partition("@")
    for option in options:
        gathered = folders.gathered(f"{name}/{option}", chosen)
        settings = (gathered.within(package, name) if package else gathered).settings.values()
        yield from (setting for setting in settings if setting.meaning or _is_needed(setting))


def _tables(name: str) -> Iterator[str]:
    from tiltmeter.storage.store.tables import key_columns

    yield from ("", "Tables, each of which says what its columns mean")
    tables = catalogue.job(name).tables
    rows = {table: _rows(key_columns(schema)) for table, schema in tables.items()}
    yield from _columns(rows, max(map(len, rows)))


def _rows(keys: Sequence[str]) -> str:
    return f"a row for each {listed(keys)}" if keys else ""


# --- lines ----------------------------------------------------------------------------------------------------------


def _settings(settings: Iterable[Setting]) -> Iterator[str]:
    yield from _columns({_assignment(setting): _meaning(setting) for setting in settings}, _FIRST_COLUMN)


def _assignment(setting: Setting) -> str:
    return f"{setting.key}.*" if setting.is_block else f"{setting.key}={setting.value or '<value>'}"


def _meaning(setting: Setting) -> str:
    return "; ".join(filter(None, ["must be given" if _is_needed(setting) else "", setting.meaning]))


def _is_needed(setting: Setting) -> bool:
    return setting.value is None and not setting.is_block


def _columns(rows: Mapping[str, str], width: int) -> Iterator[str]:
    """Two columns, of which the first one is at least as wide as asked; a longer entry has its line to itself."""
    margin = " " * (width + 4)
    for first, second in rows.items():
        lines = [line.removeprefix(margin) for line in _wrapped(second, margin)]
        if len(first) <= width and lines:
            yield f"  {first:{width}}  {lines.pop(0)}"
        else:
            yield f"  {first}"
        yield from (f"{margin}{line}" for line in lines)


def _wrapped(text: str, margin: str) -> list[str]:
    width = min(max(shutil.get_terminal_size().columns, 60), 100)
    return wrap(text, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)
