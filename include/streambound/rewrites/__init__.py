"""SQL that keeps what the plan keeps: a bounded query, rewritten for the engine that it runs on."""
