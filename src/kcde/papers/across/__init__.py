"""What no paper has: tables across the methods of all papers, drawn into `figures/` itself."""
