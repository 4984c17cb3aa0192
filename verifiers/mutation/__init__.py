"""Mutants of a skill: where its code is changed (``site``), how (the operators), and which are made (``mutants``)."""
