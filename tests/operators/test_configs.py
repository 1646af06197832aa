"""Settings that no operator can work with."""

import pytest
from pydantic import ValidationError

from tiltmeter.operators.embedding.cooccurrence import CooccurrenceConfig
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.operators.sentiment.gru import GRUConfig
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig

WRONG = {
    CooccurrenceConfig: [{"window": 11}],
    GloveConfig: [{"dimensions": 0}, {"epochs": 0}, {"learning_rate": 0}, {"x_max": 0}, {"alpha": 0}],
    GRUConfig: [{"hidden": 0}, {"dropout": 1.0}, {"learning_rate": 2.0}, {"layers": 2}],
    Seq2SeqConfig: [{"num_beams": 0}, {"max_tokens": 0}, {"max_new_tokens": 0}, {"beams": 1}],
    ClassifierConfig: [
        *({"labels": {"A": 1.5}}, {"labels": {"A": float("nan")}}, {"score": "mean"}, {"max_tokens": 0}, {"batch": 1}),
    ],
}


@pytest.mark.parametrize(("config", "wrong"), [(config, one) for config, each in WRONG.items() for one in each])
def test_settings_that_cannot_be_are_refused(config, wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        config(**wrong)
