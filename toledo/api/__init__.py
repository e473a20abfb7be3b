"""The front door: text in, text and results out; one file for each verb."""
