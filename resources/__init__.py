"""Data files shipped with the application: icons, themes, rules, hardware peaks, help texts, templates."""
