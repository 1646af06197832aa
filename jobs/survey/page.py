"""The page of `survey`, with the sections of the jobs that it joins."""

from tiltmeter.jobs.association.page import measures as associations
from tiltmeter.jobs.embedding.page import page_of
from tiltmeter.jobs.gender.page import measures as gender
from tiltmeter.jobs.psychophysics.page import measures as psychophysics

page = page_of(
    "How far the words lean",
    "How far do word vectors lean: occupations to female or to male words, groups of words to pleasant or to "
    "unpleasant ones, professions along the direction of gender?",
    psychophysics,
    associations,
    gender,
)
