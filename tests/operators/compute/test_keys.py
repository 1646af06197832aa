from tiltmeter.operators.compute.keys import document_key


def test_document_keys_are_stable():
    assert document_key("en:12") == 14576028592609274904
