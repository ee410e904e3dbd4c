"""Small model files of other programs, written by hand."""

import json
import struct

from reference.foreign import lightgbm_text

RANKBOOST = "## RankBoost\n## Iteration = 3\n## No. of threshold candidates = 10\n1:0.5:0.25 3:-1.0:0.5 1:2.0:-1.0"
LAMBDAMART = """## LambdaMART
## No. of trees = 2
## Learning rate = 0.1

<ensemble>
\t<tree id="1" weight="0.1">
\t\t<split>
\t\t\t<feature>2 </feature>
\t\t\t<threshold> 0.3 </threshold>
\t\t\t<split pos="left">
\t\t\t\t<output>-1.5 </output>
\t\t\t</split>
\t\t\t<split pos="right">
\t\t\t\t<feature>4 </feature>
\t\t\t\t<threshold> -2.0 </threshold>
\t\t\t\t<split pos="left">
\t\t\t\t\t<output>0.7 </output>
\t\t\t\t</split>
\t\t\t\t<split pos="right">
\t\t\t\t\t<output>2.0 </output>
\t\t\t\t</split>
\t\t\t</split>
\t\t</split>
\t</tree>
\t<tree id="2" weight="0.1">
\t\t<split>
\t\t\t<output>3.0 </output>
\t\t</split>
\t</tree>
</ensemble>
"""
TREES = [(0.1, (2, 0.3, -1.5, (4, -2.0, 0.7, 2.0))), (0.1, 3.0)]
FOREST = "## Random Forests\n## No. of bags = 2\n\n" + 2 * LAMBDAMART.partition("\n\n")[2]
WEIGHTS = "## Coordinate Ascent\n## Restart = 5\n1:0.5 3:-0.25 # made by hand"
REGRESSION = "## Linear Regression\n## Lambda = 1.0E-10\n0:2.0 1:0.5 2:1.0 "
DUMP = [
    {
        "nodeid": 0, "depth": 0, "split": "f1", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 2,
        "children": [{"nodeid": 1, "leaf": 0.25}, {"nodeid": 2, "leaf": -0.5}],
    }
]  # fmt: skip
XGBOOST = {
    "learner": {
        "attributes": {},
        "feature_names": [],
        "gradient_booster": {
            "model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"},
                "tree_info": [0],
                "trees": [
                    {
                        "default_left": [0, 0, 0],
                        "left_children": [1, -1, -1],
                        "right_children": [2, -1, -1],
                        "loss_changes": [1.5, 0.0, 0.0],
                        "split_conditions": [0.5, 0.25, -0.5],
                        "split_indices": [1, 0, 0],
                        "split_type": [0, 0, 0],
                        "tree_param": {"num_nodes": "3", "size_leaf_vector": "1"},
                    }
                ],
            },
            "name": "gbtree",
        },
        "learner_model_param": {"base_score": "[1E0]", "num_class": "0", "num_feature": "3", "num_target": "1"},
        "objective": {"name": "rank:ndcg"},
    },
    "version": [3, 2, 0],
}


def to_ubjson(value):
    """Write what the reader reads: integers as arrays of one kind, the rest plainly."""
    if isinstance(value, dict):
        return b"{" + b"".join(name_of(key) + to_ubjson(one) for key, one in value.items()) + b"}"
    if isinstance(value, list) and value and all(isinstance(one, int | float) for one in value):
        kind, code = ("D", "d") if any(isinstance(one, float) for one in value) else ("l", "i")
        return f"[${kind}#L".encode() + struct.pack(f">q{len(value)}{code}", len(value), *value)
    if isinstance(value, list):
        return b"[#L" + struct.pack(">q", len(value)) + b"".join(map(to_ubjson, value))
    return b"S" + name_of(value)


def name_of(text):
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()


SAMPLES = {
    "lightgbm": lightgbm_text(trees=2).encode(),
    "xgboost": json.dumps(XGBOOST).encode(),
    "xgboost-ubj": to_ubjson(XGBOOST),
    "xgboost-json": json.dumps(DUMP).encode(),
    "ranklib-rankboost": RANKBOOST.encode(),
    "ranklib-trees": LAMBDAMART.encode(),
    "ranklib-forest": FOREST.encode(),
    "ranklib-weights": WEIGHTS.encode(),
    "ranklib-regression": REGRESSION.encode(),
}
