"""One lifecycle for every boosted ranker: the protocol, the loop, what is watched, kept and gone on from."""
