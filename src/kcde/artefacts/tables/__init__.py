"""Parts of tables: building from scores, pages, pictures, and the descriptions of methods."""
