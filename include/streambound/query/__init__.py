"""From SQL text and a stream catalog to the frozen query model."""
