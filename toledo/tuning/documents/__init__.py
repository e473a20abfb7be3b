"""Tuning at document level: ranking of recorded states (Smith 2015), and expected BLEU by document chains."""
