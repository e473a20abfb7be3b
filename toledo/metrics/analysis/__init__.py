"""Where systems differ: segments, lengths, words and n-grams, as compare-mt (Neubig et al. 2019) shows them."""
