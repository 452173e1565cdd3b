"""Reads a line file of traces into a typed table with DuckDB, and prints how many traces and tool calls it holds."""

import json
import sys

import duckdb  # type: ignore[import-not-found] # stands in the peers' environment alone

# The fields of the trace contract; what is free-form stays JSON text, as it does with us.
COLUMNS = {
    "traceId": "VARCHAR",
    "caseId": "VARCHAR",
    "trial": "BIGINT",
    "question": "VARCHAR",
    "finalAnswer": "VARCHAR",
    "status": "VARCHAR",
    "startedAt": "VARCHAR",
    "finishedAt": "VARCHAR",
    "durationMs": "DOUBLE",
    "model": "VARCHAR",
    "usage": 'STRUCT("inputTokens" BIGINT, "outputTokens" BIGINT, "totalTokens" BIGINT, "costUsd" DOUBLE)',
    "executorOutput": (
        "STRUCT(answer_version VARCHAR, answer VARCHAR, "
        'claims STRUCT(claim_id VARCHAR, "text" VARCHAR, evidence_bindings STRUCT("toolName" VARCHAR)[])[])'
    ),
    "toolInvocations": (
        'STRUCT("toolName" VARCHAR, arguments JSON, success BOOLEAN, "durationMs" DOUBLE, '
        '"resultSummary" VARCHAR, error VARCHAR)[]'
    ),
    "selfEvaluation": (
        "STRUCT(verifier_evaluation STRUCT(verdict VARCHAR, score DOUBLE, "
        "gatekeeper_result STRUCT(status VARCHAR, violations JSON), "
        "claim_checks STRUCT(claim_id VARCHAR, verification VARCHAR, detail VARCHAR)[], "
        'composer_output STRUCT("mode" VARCHAR)))'
    ),
}


def main(file: str, threads: str) -> None:
    """Read and print."""
    connection = duckdb.connect(config={"threads": int(threads)})
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in COLUMNS.items())
    connection.execute(
        f"CREATE TABLE traces AS SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})",  # noqa: S608 - our own columns
        [file],
    )
    found = connection.execute('SELECT count(*), sum(len("toolInvocations")) FROM traces').fetchone()
    sys.stdout.write(json.dumps([int(number) for number in found]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
