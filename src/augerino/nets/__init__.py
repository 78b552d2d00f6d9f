"""Networks in plain torch; they know nothing of augerino."""
