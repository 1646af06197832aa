"""Small files of the names that the pages use, made up, or made from what installed packages carry."""

import bz2
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import polars as pl
import yaml
from pyarrow import fs

from tests.docs.pages import ROOT
from tiltmeter.storage.vectors.files import EmbeddingFile, write_embedding

DUMP = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
"""Among gensim's test data."""

LANGUAGES = {"en": "english", "de": "german", "es": "spanish", "fr": "french", "zh": "chinese"}
LANGUAGES |= {"ar": "arabic", "fa": "farsi", "ur": "urdu", "wo": "wolof"}
ENTITIES = 60


def provide(folder: Path, write_bert: Callable[..., Path]) -> None:
    """Write all of them; among them a model of transformers that spells words letter by letter."""
    from gensim.test.utils import datapath

    shutil.copy(datapath(DUMP), folder / "simplewiki-pages-articles.xml.bz2")
    write(folder / "articles.jsonl", as_json_lines("en"))
    write(folder / "extracted/AA/wiki_00", as_wikiextractor("de"))
    write(folder / "letters/1.txt", "\n".join(text for _, text in documents("en")))
    corpora(folder / "data")
    vectors(folder)
    secret(folder)
    letters = [*ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]
    write_bert(folder / "models/bert", letters, num_hidden_layers=2, max_position_embeddings=40)
    of_pairs = ["the", "man", "woman", "was", "here", "one", "nurse", "smith", "saw", "us"]
    write_bert(folder / "models/masked", of_pairs, "BertForMaskedLM")
    sentences(folder)
    texts(folder)
    opinions(folder)
    spoken(folder)
    predicted(folder)
    rated(folder)
    logged(folder)
    records(folder)
    lists(folder)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress(text.encode()) if path.suffix == ".bz2" else text.encode())


def sentences(folder: Path) -> None:
    """Pairs of sentences, and neutral ones."""
    frames = [f"the {{}} {rest}" for rest in ("was here", "saw us", "saw the one", "was the one", "saw the {}", "was")]
    for name, more, less in (("sentences", "woman", "man"), ("neutral", "smith", "nurse")):
        rows = [f"{frame.replace('{}', more)},{frame.replace('{}', less)},{frame}" for frame in frames]
        write(folder / f"{name}.csv", "\n".join(["more,less,template", *rows]) + "\n")


def words(language: str) -> list[str]:
    """Words of the lists of a language."""

    def leaves(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            for key, item in node.items():
                yield from (item if key == "percent_women" else leaves(None if key in ("defaults", "note") else item))
        elif isinstance(node, list):
            for item in node:
                yield from leaves(item)
        elif isinstance(node, str) and len(node) < 30:
            yield node

    lists = yaml.safe_load((ROOT / f"conf/wordset/gender/{LANGUAGES[language]}.yaml").read_text())
    if language == "en":
        lists |= yaml.safe_load((ROOT / "conf/wordset/shared/english.yaml").read_text())
        lists |= yaml.safe_load((ROOT / "conf/wordset/english.yaml").read_text())
    return sorted(set(leaves(lists)))


def documents(language: str, number: int = 60) -> list[tuple[int, str]]:
    rng, known = random.Random(language), words(language)
    weights = [1 / (1 + rank % 40) for rank in range(len(known))]
    return [(at, " ".join(rng.choices(known, weights, k=150))) for at in range(1, number + 1)]


def as_json_lines(language: str) -> str:
    fields = {
        at: {"source": ("letters", "news")[at % 2], "date": f"{1989 + 11 * (at % 3)}-05-01"} for at in range(1, 61)
    }
    rows = [{"id": str(at), "title": f"Article {at}", "text": text} | fields[at] for at, text in documents(language)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def as_wikiextractor(language: str) -> str:
    pages = [
        f'<doc id="{at}" url="" title="Article {at}">\nArticle {at}\n\n{text}\n</doc>\n'
        for at, text in documents(language)
    ]
    return "".join(pages)


def corpora(folder: Path) -> None:
    """What the named corpora of `conf/corpus/` read below TILTMETER_DATA."""
    for config in map(yaml.safe_load, (path.read_text() for path in ROOT.glob("conf/corpus/*.yaml"))):
        paths = config["path"] if isinstance(config["path"], list) else [config["path"]]
        for at, pattern in enumerate(path.partition("}/")[2] for path in paths if "TILTMETER_DATA" in path):
            name = pattern.replace("*", "1")
            if ".jsonl" in name:
                write(folder / name, as_json_lines(config["language"]))
            elif "wikiextractor" in name:
                write(folder / name, as_wikiextractor(config["language"]))
            else:
                write(folder / name, "\n".join(f"{text} {at}" for _, text in documents(config["language"])))


def vectors(folder: Path) -> None:
    """Files of vectors for the English word lists: two models, and a model with replicas."""
    known = [word.replace(" ", "_") for word in words("en")]
    rng = np.random.default_rng(0)
    made = rng.normal(size=(5, len(known), 12)).astype(np.float32)
    (folder / "men.tsv").write_text("man\twoman\t7.5\nking\tqueen\t8\ngood\tbad\t2\nhouse\tcity\t4.5\n")
    (folder / "replicas").mkdir()
    names = {"vectors.bin": "word2vec_binary", "glove.txt": "glove"}
    names |= {f"replicas/{at}.bin": "word2vec_binary" for at in range(5)}
    for at, (name, form) in enumerate(names.items()):
        content = EmbeddingFile(known, made[at % 5])
        write_embedding(fs.LocalFileSystem(), str(folder / name), content, form, setting="path")


def secret(folder: Path) -> None:
    """A key, and words that are released under it."""
    write(folder / "words.txt", "\n".join([*words("en")[:9], "nowhere"]))
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)


def lists(folder: Path) -> None:
    """What stands in articles of English, and what holds of some of it."""
    known = [word for word in words("en") if "," not in word][:40]
    rows = [f"{word},{kind}" for word, kind in zip(known, ["PERSON", "PLACE"] * 20, strict=True)]
    write(folder / "mentions.csv", "\n".join(["text,type", *rows]) + "\n")
    facts = [f"{first},born_in,{second}" for first, second in combinations(known[:6], 2)]
    write(folder / "facts.csv", "\n".join(["subject,relation,object", *facts]) + "\n")


def opinions(folder: Path) -> None:
    """Made-up reviews, and the words that they are made of."""
    from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE, reviews

    rows = [f"{review.text},{review.label}" for review in reviews(200, 25, seed=0)]
    write(folder / "opinions.csv", "\n".join(["text,label", *rows]) + "\n")
    polarities = [f"{word},positive" for word in POSITIVE] + [f"{word},negative" for word in NEGATIVE]
    write(folder / "lexicon.csv", "\n".join(["word,polarity", *polarities]) + "\n")


def texts(folder: Path) -> None:
    """Labelled texts, conversations and scores."""
    rng = random.Random(0)
    nouns, verdicts = ("movie", "film", "story", "cast"), {"good": 1, "lovely": 1, "bad": 0, "awful": 0}
    for name, number in {"train": 160, "dev": 40, "test": 80}.items():
        lines = [labelled(rng, nouns, verdicts) for _ in range(number)]
        write(folder / f"{name}.tsv", "\n".join(lines) + "\n")
    write(folder / "hate.csv", "\n".join(["tweet,class", *(line.replace("\t", ",") for line in lines)]) + "\n")
    turns = [f"{at // 4},this {rng.choice(nouns)} is {rng.choice(list(verdicts))} {at}" for at in range(24)]
    write(folder / "turns.csv", "\n".join(["id,text", *turns]) + "\n")
    chats = [f"{at // 4},{at % 2},{at // 4 % 3},{rng.choice(nouns)} {rng.choice(list(verdicts))}" for at in range(24)]
    write(folder / "chats.csv", "\n".join(["C_num,UB,User_gender,Text", *chats]) + "\n")
    said = [f"this {noun} is {verdict}" for noun in nouns for verdict in verdicts]
    rows = [f"{text},{gender}" for text, gender in zip(said, ["male", "female"] * 8, strict=True)]
    write(folder / "sentences.csv", "\n".join(["text,gender", *rows]) + "\n")
    judged = [f"{text},{rng.uniform(-1, 1):.2f}" for text in said]
    write(folder / "judgements.csv", "\n".join(["text,sentiment", *judged]) + "\n")
    scores = [
        f"{variant},one,E{at % 2},{system},{gender},,{emotion},{rng.uniform(-1, 1):.3f}"
        for variant in ("original", "es")
        for system in ("a", "b")
        for gender in ("male", "female", "neutral")
        for emotion in ("joy", "anger")
        for at in range(6)
    ]
    head = "variant,group,dataset,system,gender,race,emotion,sentiment"
    write(folder / "scores.csv", "\n".join([head, *scores]) + "\n")
    votes = [",".join([text, *rng.choices(["negative", "neutral", "positive"], k=3)]) for text in said]
    write(folder / "votes.csv", "\n".join(["text,annotator_1,annotator_2,annotator_3", *votes]) + "\n")


def spoken(folder: Path) -> None:
    """Two corpora of what friends say, and a lexicon of valence."""
    rng, friends = random.Random(2), ("Chandler", "Joey", "Ross", "Monica", "Phoebe", "Rachel")
    feelings = {"negative": ("bad", "awful"), "neutral": ("here", "there"), "positive": ("good", "lovely")}
    for name in ("train_sent_emo.csv", "test_sent_emo.csv"):
        rows = []
        for at in range(120):
            feeling, friend = list(feelings)[at % 3], rng.choice(friends)
            said = f"oh my {rng.choice(['wife', 'husband', 'dog'])} is {rng.choice(feelings[feeling])} {at}"
            rows.append(f"{said},{feeling},{friend}")
        write(folder / name, "\n".join(["Utterance,Sentiment,Speaker", *rows]) + "\n")
    valence = {"bad": 0.1, "awful": 0.05, "here": 0.5, "good": 0.9, "lovely": 0.95}
    write(folder / "valence.csv", "\n".join(["Word,Valence", *(f"{word},{at}" for word, at in valence.items())]) + "\n")


def logged(folder: Path) -> None:
    """What lm-evaluation-harness logs of two models and a task."""
    rng, pronouns = random.Random(5), {"female": "she", "male": "he", "neutral": "they"}
    for model, share in {"small": 0.5, "large": 0.8}.items():
        lines = []
        for number, (occupation, gender) in enumerate((at, gender) for at in range(20) for gender in pronouns):
            doc = {"sentence": f"occupation {occupation}: {pronouns[gender]}", "occupation": f"occupation {occupation}"}
            acc = float(rng.random() < share)
            lines.append(
                {
                    "doc_id": number,
                    "doc": doc | {"gender": gender, "label": 0},
                    "target": "0",
                    "filtered_resps": [["-25.625", "False"], ["-23.5", "False"]],
                    "filter": "none",
                    "metrics": ["acc", "acc_norm"],
                    "acc": acc,
                    "acc_norm": acc,
                }
            )
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write(folder / model / "samples_winogender_all_2026-11-22.jsonl", text)


def predicted(folder: Path) -> None:
    """Tweets with what two versions of a model say of them, and reviews that a model is trained on."""
    rng, words = random.Random(4), {"negative": ("late", "awful"), "positive": ("great", "lovely")}
    rows = []
    for at in range(240):
        label = rng.choice(list(words))
        text = (
            f"flight {rng.choice(['45', 'now'])} was {rng.choice(words[label])} {rng.choice(['thanks', 'why?'])} no{at}"
        )
        guesses = [label if rng.random() < 0.7 else rng.choice(list(words)) for _ in range(2)]
        p_positive = rng.uniform(0.5, 1) if guesses[0] == "positive" else rng.uniform(0, 0.5)
        rows.append(f"{text},{label},{','.join(guesses)},{1 - p_positive:.4f},{p_positive:.4f}")
    head = "text,label,prediction,prediction_before,p_negative,p_positive"
    write(folder / "tweets.csv", "\n".join([head, *rows]) + "\n")
    write(folder / "new.csv", "\n".join([head, *rows[:40]]) + "\n")
    reviews = [f"a film that was {rng.choice(words[label])} {at},{label}" for at, label in enumerate(list(words) * 60)]
    write(folder / "reviews.csv", "\n".join(["text,label", *reviews]) + "\n")


def rated(folder: Path) -> None:
    """Corpora with the columns and scales of those that are licensed, and other words."""
    rng, speakers = random.Random(3), [f"{gender}{number}" for gender in "FM" for number in range(4)]
    words = {1.5: "awful", 3.0: "here", 4.8: "lovely"}
    for name, stretch in {"iemocap": 1.0, "muse": 1.4, "msp_improv": 1.0}.items():
        rows = []
        for at in range(120):
            rating, speaker = list(words)[at % 3], rng.choice(speakers)
            said = f"oh {rng.choice(['he', 'she', 'it'])} is {words[rating]} {at}"
            rows.append(f"{said},{rating * stretch:.2f},{speaker[0]},{speaker}")
        write(folder / f"{name}.csv", "\n".join(["text,valence,gender,speaker", *rows]) + "\n")


def labelled(rng: random.Random, nouns: Sequence[str], verdicts: dict[str, int]) -> str:
    verdict = rng.choice(list(verdicts))
    return f"{rng.choice(['honestly', 'well', 'so'])} this {rng.choice(nouns)} is {verdict}\t{verdicts[verdict]}"


def records(folder: Path) -> None:
    """Messy records of some entities, pairs of them, true clusters, and mentions of chains."""
    rng = random.Random(1)
    rows = []
    for entity in range(ENTITIES):
        name, street = f"{rng.choice(['North', 'South'])} School {entity}", f"{entity} {rng.choice(['Oak', 'Elm'])} St"
        for _ in range(2 + entity % 2):
            phone = f"555{entity:04d}" if rng.random() < 0.8 else f"555{rng.randrange(10_000):04d}"
            rows.append((f"r{len(rows)}", entity, name.replace("School", rng.choice(["School", "Sch"])), street, phone))
    ids = ("Id", "cluster", "Site name", "Address", "Phone")
    frame = pl.DataFrame(rows, ids, orient="row").with_columns(Zip=pl.lit("606") + (pl.col("cluster") % 10).cast(str))
    frame.drop("cluster").write_csv(folder / "records.csv")
    frame.select(record="Id", cluster="cluster").write_parquet(folder / "gold.parquet")
    found = [
        (one[0], other[0], rng.gauss(0.5 if one[1] == other[1] else -0.5, 0.3))
        for one, other in combinations(rows, 2)
        if abs(one[1] - other[1]) < 2
    ]
    pairs = pl.DataFrame(found, ("left", "right", "weight"), orient="row")
    pairs.write_parquet(folder / "pairs.parquet")
    pairs.write_csv(folder / "pairs.csv")
    is_other = pl.col("left").is_in(["r0", "r7"])
    pairs.with_columns(pl.when(is_other).then(-pl.col("weight")).otherwise("weight").alias("weight")).write_parquet(
        folder / "tonight.parquet"
    )
    (folder / "apart.csv").write_text("left,right\nr3,r5\n")
    (folder / "labelled_pairs.csv").write_text("left,right,is_match\nr1,r2,true\n")
    sources = [(row[0], f"catalogue {number % 3}") for number, row in enumerate(rows)]
    pl.DataFrame(sources, ("record", "catalogue"), orient="row").write_csv(folder / "sources.csv")
    mentions = [(f"t{at % 2}", f"m{at}", ("event", "entity")[at // 2 % 2], f"c{at % 2}{at // 8}") for at in range(48)]
    columns = ("topic", "mention_id", "mention_class", "chain_id")
    pl.DataFrame(mentions, columns, orient="row").write_parquet(folder / "mentions.parquet")
