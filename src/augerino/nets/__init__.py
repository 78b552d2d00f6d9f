"""Networks in plain torch, independent of the rest of the package."""
