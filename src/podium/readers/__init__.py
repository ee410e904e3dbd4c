"""Files to arrays: LETOR and SVMlight, CSV and Parquet, TREC runs and judgements, pairs, sizes and weights.

Every reader of text takes plain and packed files (gzip, xz, zstandard) alike, reads all of a file or raises, and names
the file and the line in what it raises.
"""

from podium.readers.letor import read_letor
from podium.readers.packed_files import PACKED_ENDINGS, open_unpacked, packed_for
from podium.readers.pair_files import read_item_pairs
from podium.readers.ranking_table import RankingTable
from podium.readers.side_files import read_pairs, read_query_sizes, read_weights
from podium.readers.tables import read_csv, read_parquet, table_columns
from podium.readers.trec import Qrels, Run, read_qrels, read_run

__all__ = [
    "PACKED_ENDINGS",
    "Qrels",
    "RankingTable",
    "Run",
    "open_unpacked",
    "packed_for",
    "read_csv",
    "read_item_pairs",
    "read_letor",
    "read_pairs",
    "read_parquet",
    "read_qrels",
    "read_query_sizes",
    "read_run",
    "read_weights",
    "table_columns",
]
