"""Our own code calls nothing that runs data."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("cluster", "conf", "jobs", "operators", "storage")

FORBIDDEN_IMPORTS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
ALLOWED_IMPORTS = {
    # It reads pickles without running them, and is tested in test_pickles.py.
    "storage/vectors/gensim_files.py": {"pickle"},
    # The error alone.
    "storage/vectors/tables.py": {"pickle"},
    "storage/models/load.py": {"pickle"},
}
FORBIDDEN_CALLS = {
    *("__import__", "compile", "eval", "exec"),
    *("os.popen", "os.system", "pickle.load", "pickle.loads", "tempfile.mktemp"),
    *("yaml.full_load", "yaml.load", "yaml.load_all", "yaml.unsafe_load"),
    *("hydra.utils.call", "hydra.utils.get_class", "hydra.utils.get_object", "hydra.utils.instantiate", "instantiate"),
    *("cloudpickle.load", "cloudpickle.loads", "np.fromregex", "pd.eval", "pd.read_pickle"),
}
NEEDED_ARGUMENTS = {
    "np.load": "allow_pickle=False",
    "np.save": "allow_pickle=False",
    "np.savez": "allow_pickle=False",
    "torch.load": "weights_only=True",
}
LOADS_MODELS = (".from_pretrained", ".from_config")
IMPORT_BY_NAME = {
    *("operators/resolution/solvers.py", "jobs/app.py", "jobs/runtime/job.py", "jobs/classifiers/brought.py"),
}
"""The names come from tables of their own, or from the command: no file of settings of others may name a function."""


def called(node: ast.AST) -> str:
    """``np.load`` of a call of it; of a call of what another call gives, the names behind that."""
    if isinstance(node, ast.Call):
        return called(node.func)
    if isinstance(node, ast.Attribute):
        return f"{called(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def told(node: ast.Call) -> list[str]:
    """The arguments that have names, and the dictionaries of them."""
    return [f"{word.arg}={ast.unparse(word.value)}" if word.arg else ast.unparse(word.value) for word in node.keywords]


def import_faults(node: ast.AST, name: str) -> Iterator[str]:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        modules = [node.module]
    for module in modules:
        if module.split(".")[0] in FORBIDDEN_IMPORTS - ALLOWED_IMPORTS.get(name, set()):
            yield f"imports {module}"


def call_faults(node: ast.AST, name: str) -> Iterator[str]:
    if not isinstance(node, ast.Call):
        return
    function = called(node)
    if function in FORBIDDEN_CALLS:
        yield f"calls {function}"
    if function.startswith("subprocess.") and any(word.startswith("shell=") for word in told(node)):
        yield "gives a command to a shell"
    if function.endswith(LOADS_MODELS) and not {"trust_remote_code=False", "safely"} & {*told(node)}:
        yield "does not say that no code of others is to be trusted"
    if function in NEEDED_ARGUMENTS and NEEDED_ARGUMENTS[function] not in told(node):
        yield f"calls {function} without {NEEDED_ARGUMENTS[function]}"
    if function.endswith("import_module") and name not in IMPORT_BY_NAME:
        yield "imports by name"


def faults(name: str, text: str) -> list[str]:
    nodes = [*ast.walk(ast.parse(text))]
    return [f"{name}: {fault}" for node in nodes for fault in (*import_faults(node, name), *call_faults(node, name))]


@pytest.mark.long
def test_no_module_runs_data():
    modules = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert modules
    found = (faults(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in modules)
    assert [fault for faults_of_one in found for fault in faults_of_one] == []


@pytest.mark.parametrize(
    "text",
    [
        *("import pickle", "from cloudpickle import loads", "eval(text)", "yaml.load(text, yaml.Loader)"),
        *("np.load(path)", "np.load(path, allow_pickle=True)", "torch.load(path)", "subprocess.run(text, shell=True)"),
        *("AutoModel.from_pretrained(path, trust_remote_code=True)", "AutoModel.from_config(config)"),
        *("hydra.utils.instantiate(config)", "importlib.import_module(name)"),
    ],
)
def test_what_would_run_data_is_noticed(text):
    assert len(faults("somewhere.py", text)) == 1
