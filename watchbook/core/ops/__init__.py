"""Operations: headers and addresses of requests, health, metrics, backup, doctor, the web process."""
