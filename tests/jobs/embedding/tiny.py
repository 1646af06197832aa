"""What makes a run on a corpus as small as it can be."""

BOOTSTRAP = ["job=bootstrap", "embedding.num_replicas=2", "embedding.min_count=2", "embedding.trainer.dimensions=4"]
