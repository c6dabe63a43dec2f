"""`polycmp suite merge`: what it is asked for in vain."""

from __future__ import annotations

import pytest
from suite_texts import HEAD, case


@pytest.fixture
def shards(suite):
    """A folder with two shards of which no file changed, so that neither ran a case."""
    suite.write(HEAD + case("a"))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        suite.git(*words)
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--results", f"shards/{number}")
        suite("suite.toml", "--changed-since", "HEAD", *shard, status=0)
    return suite


def test_shards_without_any_case_are_no_failure_and_make_no_run(shards):
    done = shards("merge", "shards", "--results", "merged", status=0)
    assert "no case was chosen in any shard" in done.stderr
    assert not (shards.folder / "merged").exists()


def test_the_last_passes_were_compared_by_the_shards_themselves(shards):
    refused = shards("merge", "shards", "--baseline", f"file://{shards.folder}/base", status=2)
    assert "shards compare their cases with the last passes themselves" in refused.stderr
    assert "next: polycmp suite SUITE --shard K/N --baseline URI" in refused.stderr
