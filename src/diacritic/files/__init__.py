"""Every file format of the package: one module each, with one writer and one reader."""
