"""Arguments with which each benchmark takes a second, and the lines it and the contests must print; # is a number."""

SMALL = {
    "report.py": (
        ["--queries", 12, "--rounds", 3, "--mq2008", "none"],
        [f"12 made queries, {name} # rows # s # s cpu # MB 12 queries shown" for name in ("RankBoost", "LambdaMART")],
    ),
    "blending.py": (["--rows", 200, "--longest", 25], ["25 # # #"]),
    "doctor.py": (["times", "--rows", 600, "--features", 5, "--threads", 1], ["peak memory # GiB"]),
    "exports.py": (
        ["--trees", 3, "--leaves", 5, "--rows", 40],
        ["3 trees of 5 leaves", "certify 40 rows", *(f"{name} # # #" for name in ("ranklib", "lightgbm", "scorecard"))],
    ),
    "fuzz_models.py": (["--files", 12], ["12 changed files", "refused #", "crashed 0", "slowest # s"]),
    "imports.py": (
        ["--trees", 3, "--leaves", 5],
        [f"{name} # MB # s" for name in ("lightgbm", "xgboost-json", "ranklib")],
    ),
    "margins.py": (
        ["--rows", 400, "--features", 4, "--repeat", 1],
        ["400 rows x 4, two grades", "RankSVM # #", "LinearSVC, 400 sampled pairs # #"],
    ),
    "model_files.py": (["--trees", 3, "--leaves", 4], ["3 trees of 4 leaves", "save # #", "load # #", "# MB"]),
    "ordinal.py": (
        ["--train", 200, "--rounds", 3, "--repeat", 1],
        ["200 rows x 16 features, 10 grades, 3 rounds", "AdaBoostOR # s, plain form # s: # times", "test cost #"],
    ),
    "permutations.py": (
        ["--items", 20, "--comparisons", 2000, "--rankings", 40, "--repeat", 1],
        [
            "20 items, 2,000 comparisons",
            *(f"{name} # s # s cpu # steps off by #" for name in ("newton", "mm", "choix")),
            "ties of 2 in 12 # s # s cpu # steps",
            "Mallows, 12 items # s # s cpu distance #, at least #",
            "linear, 800 x 20 # s # s cpu # steps",
        ],
    ),
    "pair_gradients.py": (
        ["--largest", 400, "--products", 400, "--repeat", 1, "--plot", "chart.svg"],
        ["seconds a gradient", "100 # # # # # #", "slope # # # # # #"],
    ),
    "plus.py": (
        ["--items", 30, "--raters", 20, "--rounds", 3, "--repeat", 1, "--optimal"],
        [
            "pairs of 30 items",
            *(f"{name} # s # ms a round E1 # E2 # loss #" for name in ("RB-C", "RB-D", "RB+ optimal")),
        ],
    ),
    "quantized.py": (
        ["--millions", 0.002, "--trees", 2, "--leaves", 4],
        ["MART 2,000 2 # 2 # #", "queries of two rows 2,000 2 # 2 # #"],
    ),
    "neural.py": (
        ["factored", "--docs", 6, "--queries", 2, "--repeat", 1],
        ["2 queries of 6 documents, # pairs", "one gradient per document | # | 1", "pair by pair | # | #"],
    ),
    "rankboost_kernels.py": (
        ["--rows", 600, "--repeat", 1],
        ["graded", "bipartite", "search by z # ms", "100 rounds # ms", "pairs update # ms", "stored a feature # ms"],
    ),
    "rankboost.py": (
        ["race", "criteria", "all_thresholds", "pairs", "sparse", "--share", 0.001, "--turns", 1],
        [
            "podium r / lightgbm, 2 thread(s) # 0.35",
            "NDCG@10 of podium r on new queries #",
            "z / r, two grades #",
            "3 rounds by z, every threshold, 1 thread # s",
            "both # ns a pair and round",
            "search, 1 % / 0.5 % #",
        ],
    ),
    "dask_training.py": (
        ["race", "--rows", 400, "--trees", 2, "--leaves", 4, "--repeat", 1, "--workers", 1],
        ["local, 1 threads # ms a round", "workers of one thread # ms a round", "set-up # s, same model: True"],
    ),
    "dask_model.py": (["table", "--workers", 10], ["| 1e+08 | 10 | # | # (#) | # (#) | # (#) | # (#) |"]),
    "out_of_core.py": (
        ["--rows", 400, "--features", 3, "--trees", 2, "--times", 0.00001, "--threads", 1],
        ["in memory # s, # MB at most", "ratio #, same model: True"],
    ),
    "explain.py": (
        ["--trees", 3, "--leaves", 4, "--docs", 12, "--repeat", 1],
        [
            "3 trees of 4 leaves",
            "two rows, interventional #",
            "a query, by paths #",
            "changes that swap two rows # - -",
        ],
    ),
    "selection.py": (
        ["times", "errors", "--rows", 500, 1000, "--features", 12, "--tables", 1, "--pairs", 1],
        ["1,000 # # # #", "slope # # # #", "1 tables, p = 12", "6 0.9 # # #"],
    ),
    "treerank.py": (
        ["--trees", 2, "--leaves", 3, "--rows", 120, "--seeds", 1, "--folds", 2],
        [
            "2 trees, 3 leaves, 1 seeds x 2 folds",
            "breast cancer TreeRankForest # # RandomForestClassifier # # # ± #",
            "made 120 x 57 TreeRank # # DecisionTreeClassifier # # # ± #",
        ],
    ),
}

CONTESTS = {
    "training": [
        "600 rows, 3 trees of 7 leaves, 1 thread 600 # lightgbm #, lightgbm, quantized #, xgboost #",
        "catboost #",
    ],
    "scoring": ["31 leaves, 1 thread 100 # lightgbm #, xgboost #, treelite #", "31 leaves, 2 threads 300 #"],
    "reading": ["LETOR file, by MB 0.1 # scikit-learn #", "TREC run, by topics of 1,000 1 # ir-measures #"],
    "measuring": ["NDCG@10, by queries of 100 20 # ranx #, ir-measures #, scikit-learn #", "200 # scipy #"],
    "memory": ["a fit of 31 leaves, 1 thread 500 # lightgbm #"],
    "cold_start": ["import 1 # scikit-learn #", "podium --help 1 #", "first fit, new process 1 # scikit-learn #"],
}
