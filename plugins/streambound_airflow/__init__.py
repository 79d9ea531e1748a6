"""What the DAGs are made of: operators, asset names, forms and the results database's connection."""
