"""Commands that run the project on one machine; not part of the installed library."""
