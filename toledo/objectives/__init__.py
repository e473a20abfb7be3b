"""What training maximizes: functions of expectations, with exact gradients."""
