"""Small faults put into the library one at a time: the tests must notice each.

    make mutants                                            all; broken off and run again, it goes on where it was
    make mutants MUTANTS='losses/lambdas.py measures'       those of some modules
    make mutants MUTANTS='push --tests test_push'           looked for in one test file: quick, where nothing is known
    make mutants MUTANTS='--generated measures losses'      those that cosmic-ray's operators make, a sample of each

`table/` holds the faults: module, text before, text after, what breaks. `tests_of` finds the tests that run a function,
by coverage; `runner` runs them in a copy of the project. Kernels first run as plain Python, which needs no compiling;
what survives there runs compiled.
"""
