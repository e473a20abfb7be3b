"""Training for expected BLEU with samples drawn batch by batch."""
