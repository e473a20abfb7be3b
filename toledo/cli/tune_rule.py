"""`toledo tune-rule`: find the rule and the scale that suit a development set."""
