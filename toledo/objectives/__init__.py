"""What training maximises: functions of expectations, with exact gradients."""
