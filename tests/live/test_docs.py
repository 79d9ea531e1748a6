"""The examples of docs/live.md: they are read as they stand, and their options are those of Spark's Kafka."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streambound.compiler import compile
from streambound.query.catalog import Catalog, load_catalog
from streambound.query.live_sources import LIVE_KEYS, PAYLOAD_KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
# Facts of Apache Spark: the options of its Kafka source, from the "Structured Streaming + Kafka Integration
# Guide" and KafkaSourceProvider.scala (connector/kafka-0-10-sql), where their case does not matter.
CHOICE = {"assign", "subscribe", "subscribePattern"}
OPTIONS = CHOICE | {
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "failOnDataLoss",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "maxOffsetsPerTrigger",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "minPartitions",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingTimestamp",
}
OF_BATCHES = {name for name in OPTIONS if name.startswith("ending")}
# Of what begins with "kafka.", which goes to Kafka's consumer: configurations of the consumer that the guide
# and Kafka's own documentation name, without those that Spark refuses (auto.offset.reset, key.deserializer,
# value.deserializer, enable.auto.commit, interceptor.classes).
CONSUMER = {
    "bootstrap.servers",
    "client.id",
    "fetch.max.bytes",
    "group.id",
    "isolation.level",
    "max.partition.fetch.bytes",
    "max.poll.records",
    "request.timeout.ms",
    "sasl.jaas.config",
    "sasl.mechanism",
    "security.protocol",
    "session.timeout.ms",
    "ssl.keystore.location",
    "ssl.truststore.location",
}


def block(kind: str) -> str:
    """The first block of a kind on the page."""
    found = re.search(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "streams.yml").write_text(block("yaml"))
    return load_catalog(tmp_path / "streams.yml")


def test_the_example_is_bounded(catalog: Catalog) -> None:
    assert compile(block("sql"), catalog).verdict.outcome.value == "bounded"


def test_its_options_are_those_of_sparks_kafka_source(catalog: Catalog) -> None:
    for relation in catalog.relations:
        assert relation.live is not None and relation.live.format == "kafka"
        names = {name for name, _ in relation.live.options}
        own = {name for name in names if not name.startswith("kafka.")}
        assert own <= OPTIONS - OF_BATCHES, relation.name
        assert len(own & CHOICE) == 1, relation.name
        assert {name.removeprefix("kafka.") for name in names - own} <= CONSUMER, relation.name
        assert "kafka.bootstrap.servers" in names, relation.name
        assert relation.live.value is not None


def test_every_option_that_the_page_names_is_one() -> None:
    told = set(re.findall(r"`?\b((?:max|min|starting|ending)[A-Z]\w+)", PAGE))
    assert "maxOffsetsPerTrigger" in told
    # The other is of files.
    assert told <= OPTIONS | {"maxFilesPerTrigger"}
    assert set(re.findall(r"--into-option kafka\.([\w.]+)=", PAGE)) <= CONSUMER


def test_every_key_of_the_catalog_is_explained() -> None:
    section = PAGE[PAGE.index("## What `live` says") :]
    assert [key for key in LIVE_KEYS if f"| `{key}` |" not in section] == []
    assert [key for key in PAYLOAD_KEYS if key not in section] == []
