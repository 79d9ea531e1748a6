"""Tables, plots and HTML fragments for people."""
