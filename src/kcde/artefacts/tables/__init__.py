"""What tables share: values, pages, pictures and the words for methods."""
