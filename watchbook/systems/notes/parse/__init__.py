"""What the platform answers, read into records. Bytes in, frozen records out; no Django, no network, no clock."""
