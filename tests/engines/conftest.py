"""A Spark session, as the tests of that room have it."""

from tests.spark.conftest import spark as spark
