"""Add source: one field for every address or keyword. Each system recognises its own."""
