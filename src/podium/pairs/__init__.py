"""The distribution over pairs, the weights of weak rankings, and RankBoost's rounds."""
