"""Documents: office files, books, subtitles and the files of localisation, one module a format."""
