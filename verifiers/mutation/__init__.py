"""How a skill's code is changed into mutants: where (``site``) and by which operators (the other modules)."""
