"""The page of `word_lengths`."""

from tiltmeter.jobs.report.views import Page, Show, section
from tiltmeter.jobs.report.wording import plural
from word_lengths.job import WordLengths, WordLengthsRun

page = Page[WordLengthsRun](
    "How long words are",
    "How long are the words of each text?",
    lambda config: {"job": config.job.name, "language": config.language},
    {WordLengths: lambda rows: [f"{plural(rows['mean_length'].count(), 'text')} of {len(rows)} have words."]},
    lambda _: "A word is what the tokeniser takes for one.",
    [section("lengths", "Texts", Show(WordLengths, "Mean length of each text's words.", "row mean_length", most=60))],
)
