"""Rules and instances that hypothesis draws: few words, so that many of them match."""

from hypothesis import strategies as st

from tiltmeter.operators.relations.instances import FIELDS, Instance, Sentence, Span
from tiltmeter.operators.relations.rules import grammar

WORDS = ["a", "b", ",", "of"]
TAGS = ["X", "Y"]
EXPRESSIONS = ["a|b", "[ab,]", "o.", ".*", "X|Y", "(a|b)?,?"]
DEPRELS = ["nsubj", "obj", "nmod:of"]

values = st.builds(grammar.Value, st.sampled_from(WORDS + TAGS)) | st.builds(
    grammar.Value, st.sampled_from(EXPRESSIONS), st.just(True)
)
tests = st.builds(grammar.Test, st.sampled_from(FIELDS), values)
words = st.builds(grammar.Test, st.just("word"), values)
tokens = st.builds(grammar.Token, st.lists(words, max_size=1).map(tuple) | st.lists(tests, max_size=2).map(tuple))
quantifiers = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (0, 3), (1, 2), (2, None)]).map(
    lambda pair: grammar.Quantifier(*pair)
)
atoms = st.recursive(
    tokens,
    lambda inner: st.builds(
        grammar.Group,
        st.lists(
            st.lists(st.builds(grammar.Item, inner, st.none() | quantifiers), max_size=2).map(tuple),
            min_size=1,
            max_size=2,
        ).map(tuple),
    ),
    max_leaves=4,
)
sides = st.lists(st.builds(grammar.Item, atoms, st.none() | quantifiers), max_size=3).map(tuple)


@st.composite
def surface_rules(draw, least_arguments=1):
    roles = draw(st.permutations(["subject", "object"]))[: draw(st.integers(least_arguments, 2))]
    arguments = [
        grammar.Argument(
            role, draw(st.lists(tests, max_size=1).map(tuple)), draw(st.sampled_from([False, False, True]))
        )
        for role in roles
    ]
    return grammar.SurfaceRule(tuple(draw(sides) for _ in range(len(roles) + 1)), tuple(arguments))


relations = st.builds(grammar.Value, st.sampled_from([*DEPRELS, "a b", ""])) | st.just(
    grammar.Value("n.*", is_regex=True)
)
plain_nodes = st.builds(
    grammar.Node, tokens | st.sampled_from([grammar.Argument("subject"), grammar.Argument("object")])
)


def _branches(targets):
    edges = st.builds(grammar.Edge, relations, targets, st.booleans(), st.booleans())
    options = st.lists(edges, min_size=1, max_size=2).map(tuple)
    return edges | st.builds(grammar.Choice, st.lists(options, min_size=1, max_size=2).map(tuple))


targets = st.recursive(
    plain_nodes,
    lambda inner: st.builds(
        grammar.Node,
        plain_nodes.map(lambda node: node.token),
        st.lists(_branches(inner), min_size=1, max_size=2).map(tuple),
    ),
    max_leaves=3,
)
dependency_rules = st.lists(_branches(targets), min_size=1, max_size=2).map(
    lambda branches: grammar.DependencyRule(grammar.Node(grammar.Argument("subject"), tuple(branches)))
)


@st.composite
def instances(draw, most=8, has_tree=True):
    """Of sentences with trees, if these must be there: the head of a token lies before it."""
    length = draw(st.integers(2, most))
    words, lemmas = (draw(st.lists(st.sampled_from(WORDS), min_size=length, max_size=length)) for _ in range(2))
    pos, ner = (draw(st.lists(st.sampled_from(TAGS), min_size=length, max_size=length)) for _ in range(2))
    heads = [-1, *(draw(st.integers(0, place - 1)) for place in range(1, length))]
    deprels = draw(st.lists(st.sampled_from(DEPRELS), min_size=length, max_size=length))
    tree = map(tuple, (heads, deprels)) if has_tree or draw(st.booleans()) else ()
    sentence = Sentence(*map(tuple, (words, lemmas, pos, ner)), *tree)
    ends = sorted(draw(st.lists(st.integers(0, length), min_size=2, max_size=4, unique=True)))
    cut = draw(st.integers(1, length - 1))
    first = Span(min(ends[0], cut - 1), min(max(ends[0] + 1, ends[1]), cut))
    start = max(first.end, min(ends[-1], length - 1))
    pair = [first, Span(start, draw(st.integers(start + 1, length)))]
    if draw(st.booleans()):
        pair.reverse()
    return Instance(sentence, *pair, subject_type=draw(st.sampled_from([None, *TAGS])))
