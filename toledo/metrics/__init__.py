"""BLEU, chrF and TER as statistics that add up; significance of differences."""
