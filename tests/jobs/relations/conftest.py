"""A small run on made-up sentences."""

import pytest

NETWORK = [
    *("encoder.words=8", "encoder.pos=2", "encoder.ner=4", "encoder.lstm=8", "encoder.gcn=8", "encoder.ffn=8"),
    *("decoder.hidden=8", "decoder.embedding=8", "decoder.ffn=8", "decoder.max_length=12", "decoder.beam=3"),
    *("training.rate=0.02", "training.max_epochs=4", "training.dropout=0.1", "training.batch=20"),
]
SMALL = [
    *("job=relation_rules", "data.sentences=100", "seeds=2", "job.num_resamples=50", "job.unit_instances=25"),
    *("ablations=[no_decoder, no_classifier]", "shares=[0.5]", *NETWORK),
]


@pytest.fixture(scope="session")
def ruled(run_job, tmp_path_factory):
    place = tmp_path_factory.mktemp("ruled")
    return run_job(*SMALL, f"store={place}/store", f"run_dir={place}/run", "cluster.num_cpus=2")
