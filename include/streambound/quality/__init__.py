"""Data quality: metrics of every partition, expectations over them, and Data Docs.

The only room that imports great_expectations, inside functions: that import takes seconds.
"""

from streambound.quality.answers import AnswerSet, QueryQuality, check_answer_sets
from streambound.quality.caches import check_cache_benchmarks
from streambound.quality.metrics import Measures, measure
from streambound.quality.run import StreamQuality, check_stream
from streambound.storage.partitions import Partition, find_partitions

__all__ = [
    "AnswerSet",
    "Measures",
    "Partition",
    "QueryQuality",
    "StreamQuality",
    "check_answer_sets",
    "check_cache_benchmarks",
    "check_stream",
    "find_partitions",
    "measure",
]
