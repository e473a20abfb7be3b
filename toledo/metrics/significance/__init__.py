"""Is a difference of scores more than chance? Tests and intervals for one or several runs of each system."""
