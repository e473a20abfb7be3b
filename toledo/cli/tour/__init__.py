"""`toledo demo`, `toledo report`, `toledo sample`: what there is to see."""
