"""Small real servers on loopback that play the outside world, each with a ledger of what it truly did and holds.

Standard library only; nothing here knows the product. `python -m standins NAME --port N` runs one as its own process.
"""
