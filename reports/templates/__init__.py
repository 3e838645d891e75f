"""The pages: templates, styles and scripts, read by reports/page.py."""
