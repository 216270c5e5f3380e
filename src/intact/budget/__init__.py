"""Budgets: facts in, decisions out. Pure: no clock, no client, no asyncio; time is an argument."""
