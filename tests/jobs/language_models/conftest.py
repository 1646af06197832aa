"""Two small language models and pairs of sentences that each is asked about."""

import json
from itertools import combinations

import pytest

FRAMES = (
    "the {} was late",
    "the {} sold it",
    "a {} went home today",
    "we saw the {}",
    "the {} is kind",
    "his {} said so",
)
PEOPLE = {"bias": ("nurseling", "woman", "man", "smith"), "control": ("smith", "nurse", "nurses")}
WORDS = sorted({*" ".join(FRAMES).replace("{}", "").split(), "woman", "man", "nurse", "smith", "##ling", "##s"})


@pytest.fixture(scope="session")
def bert(write_bert, tmp_path_factory):
    """A masked language model with random weights."""
    return write_bert(tmp_path_factory.mktemp("masked"), WORDS, "BertForMaskedLM", initializer_range=0.5)


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory):
    """A causal one, with a start token and none for padding."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("causal")
    vocabulary = ["<s>", "<unk>", *WORDS, "nurseling", "nurses"]
    words = models.WordLevel({word: number for number, word in enumerate(vocabulary)}, unk_token="<unk>")
    tokenizer = Tokenizer(words)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>", model_max_length=32)
    made.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32, "initializer_range": 0.5}
    config = GPT2Config(vocab_size=len(vocabulary), bos_token_id=0, eos_token_id=0, **sizes)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory):
    """Bias pairs and control pairs of six frames, two authors for each; one pair is too long, one lacks a sentence."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    lines = ["id,more,less,template,author,kind,category,valid,pitfalls"]
    for number, frame in enumerate(FRAMES):
        for kind, people in PEOPLE.items():
            for step, (person, other) in enumerate(combinations(people, 2)):
                about = [f"t{number}", f"a{number % 3}", kind, ("work", "family")[step % 2], int(number < 4)]
                flaws = "typo; length" if number == 1 else ""
                cells = [f"{kind}{number}{step}", frame.format(person), frame.format(other), *about, flaws]
                lines.append(",".join(map(str, cells)))
    lines.append(f"long,{'the man ' * 30},the man,t0,a0,bias,work,1,")
    lines.append("empty,,the man,t0,a0,bias,work,1,")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def stereoset_file(tmp_path_factory):
    """Six terms, two contexts each; one context lacks a sentence."""
    path = tmp_path_factory.mktemp("stereoset") / "dev.json"
    entries = []
    for number, frame in enumerate(FRAMES * 2):
        filled = dict(zip(("stereotype", "anti-stereotype", "unrelated"), ("man", "woman", "late"), strict=True))
        sentences = [{"sentence": frame.format(word), "gold_label": label} for label, word in filled.items()]
        about = {"id": f"c{number}", "target": f"term{number % 6}", "bias_type": "gender" if number % 6 < 3 else "race"}
        entries.append(about | {"context": frame.format("BLANK"), "sentences": sentences})
    entries.append({**entries[0], "id": "short", "sentences": entries[0]["sentences"][:2]})
    path.write_text(json.dumps({"version": "1.0", "data": {"intrasentence": entries, "intersentence": []}}))
    return path


@pytest.fixture(scope="session")
def settings(bert, gpt2):
    """Of a quick run of both models."""
    models = f"models.checkpoints={{masked: {bert}, causal: {gpt2}}}"
    return ["job=sentence_pairs", models, "job.unit_pairs=20", "intervals.num_resamples=100"]


@pytest.fixture(scope="session")
def run(run_here, settings, pairs_file, tmp_path_factory):
    """Both models on all pairs, in this process."""
    folder = tmp_path_factory.mktemp("run")
    return run_here(*settings, f"data.path={pairs_file}", f"store={folder}/store", f"run_dir={folder}/run")
