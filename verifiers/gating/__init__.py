"""The gate over many skills: what is found, what policy asks for, what was judged before."""
