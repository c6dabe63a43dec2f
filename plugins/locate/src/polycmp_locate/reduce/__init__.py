"""Making a failing model smaller, as long as it fails."""
