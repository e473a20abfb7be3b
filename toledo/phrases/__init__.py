"""From sentence pairs to a phrase table: word alignment, extraction, lexicons, scores, look-up."""
