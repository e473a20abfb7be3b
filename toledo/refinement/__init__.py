"""Maximum expected BLEU training of phrase and lexicon models (He and Deng 2012)."""
