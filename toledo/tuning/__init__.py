"""Finding weights: tuners see tuning examples (lists, lattices or forests with references), never a decoder."""
