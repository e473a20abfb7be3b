"""Maximum expected BLEU training of phrase and lexicon models (He and Deng 2012).

    procedure = Procedure(model, corpus, tuning, validation, tuner, rounds, work)
    procedure.run(Settings("two-stage")).model.save("refined")

`ascent` has the transforms and the ascent by gradients, `expected_bleu` the expectations that both use.
"""
