"""A Spark session, as the tests of that room have it."""

from tests.spark.conftest import pytest_runtest_teardown as pytest_runtest_teardown
from tests.spark.conftest import spark as spark
