"""Pure: what is wrong with the budgets of a picture, each finding with a code that stays."""
