import numpy as np

from tiltmeter.operators.compute.keys import cluster_keys, document_key, text_keys


def test_document_keys_are_stable():
    assert document_key("en:12") == 14576028592609274904


def test_texts_that_are_there_twice_are_two():
    keys = text_keys(["so", "so", ["so"], "it"])
    assert len(set(keys.tolist())) == 4


def test_clusters_are_told_by_what_their_texts_say():
    one = cluster_keys(["a", "b", "c"], np.array([0, 1, 0]))
    other = cluster_keys(["b", "a", "c", "d"], np.array([0, 1, 1, 2]))
    assert one.tolist() == other[[1, 0]].tolist()
