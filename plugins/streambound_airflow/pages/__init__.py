"""Pages on the registered queries inside Airflow's UI, and the JSON API behind them."""
