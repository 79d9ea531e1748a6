"""A collector of OpenTelemetry's metrics, over HTTP: what of ours arrives is kept."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

# (metric, query): its newest value.
Received = dict[tuple[str, str], float]


@contextmanager
def collector() -> Iterator[tuple[int, Received]]:
    """The port of a collector that runs meanwhile, and what it received."""
    found: Received = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            _take(ExportMetricsServiceRequest.FromString(body), found)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is told."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _take(request: ExportMetricsServiceRequest, found: Received) -> None:
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.gauge.data_points:
                    tags = {one.key: one.value.string_value for one in point.attributes}
                    if metric.name.startswith("airflow.streambound."):
                        found[metric.name, tags["query"]] = point.as_double
