"""What runs things: languages under proof, verification, ports and audits, walks, models, the server."""
