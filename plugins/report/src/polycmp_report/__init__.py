"""Reports of what polycmp found: HTML, JUnit, Markdown, GitHub Actions, pictures of the error."""
