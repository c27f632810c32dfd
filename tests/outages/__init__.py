"""`make outages`: real processes for ten minutes while every stand-in fails at random."""
