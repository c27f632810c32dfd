"""What every page shares: base templates, components, charts, the home page, errors, language and theme."""
