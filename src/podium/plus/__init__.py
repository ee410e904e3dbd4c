"""RankBoost+: the distribution in which ties cost, independent rankings, and the search among them."""
