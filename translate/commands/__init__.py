"""The commands of the command line, one module each: check options, call the library, print."""
