"""Reports of perfcore for continuous integration: JUnit, SARIF, GitHub annotations and Markdown, each a module."""
