"""Rollouts: facts in, plans out. Pure: no clock, no client, no asyncio; time is an argument."""
