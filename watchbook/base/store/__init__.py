"""What the three databases need to behave alike: fields, upsert, text that every one of them takes."""
