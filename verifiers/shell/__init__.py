"""Shell text, read in one place: its syntax, its words, the tree of what it does, and that tree as text again.

``syntax`` is the parser, ``quoting`` what quotes and braces mean, ``tree`` the data; ``parse`` and ``unparse`` lead there and
back. ``script`` lists the words of commands that may be broken; ``characters`` puts one value in the place of another.
"""
