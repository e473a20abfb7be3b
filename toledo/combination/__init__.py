"""System combination: outputs of several systems in, one better output out (Rosti et al. 2011)."""
