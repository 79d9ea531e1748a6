-- One user for each database, who owns it and may enter no other. Run once by psql as the superuser; passwords come
-- from the environment, so that none is in a file or in a command line.
\set ON_ERROR_STOP on
\getenv airflow_password AIRFLOW_DB_PASSWORD
\getenv results_password RESULTS_DB_PASSWORD

CREATE ROLE airflow LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'airflow_password';
CREATE ROLE streambound LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'results_password';
CREATE DATABASE airflow OWNER airflow;
CREATE DATABASE streambound OWNER streambound;
-- Everybody may enter a new database by default.
REVOKE ALL ON DATABASE airflow, streambound, postgres, template1 FROM PUBLIC;
