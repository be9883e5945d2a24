"""Commands that read findings: `replay` runs one again, `report` makes pages of them."""

from __future__ import annotations

import click

from dplitmus.console import FOUND, Count, examples, say
from dplitmus.errors import one_line


@click.command(
    short_help="Run a saved finding again.",
    epilog=examples(
        "dplitmus replay .dplitmus/adept-5f1c09aa.json",
        "dplitmus replay report.html",
        "dplitmus replay suite.html --number 3",
    ),
)
@click.argument("file")
@click.option("--number", type=Count(), help="Which finding of a report that holds several.")
def replay(file: str, number: int | None) -> int:
    """Run the audit of a saved finding again, and say whether it stands.

    The FILE is the JSON of an audit or a report that holds it. It names the mechanism's code, which is
    loaded and run. Exit status: 1 if the claim is violated, 0 if not.
    """
    from dplitmus.replaying import chosen
    from dplitmus.replaying import replay as again
    from dplitmus.report import text
    from dplitmus.target import resolved
    from dplitmus.verdict import Verdict

    # A file may name any code: who replays it sees which, before it runs.
    code = resolved(str(chosen(file, number)["target"]))
    click.echo(f"Runs:  {one_line(code, 1000)}", err=True)
    replayed = again(file, number=number)
    words = {
        "stands": "The finding stands: the same draws, the same numbers.",
        "changed": "The finding has CHANGED: the mechanism or a version is another one.",
        "ended early": "Not comparable: a time limit or Ctrl-C ended the first run; this one went on.",
        "not replayable": "Not replayable bit for bit (no rng); this is a fresh run.",
    }
    say(words[replayed.status] + "\n")
    say(text.audit(replayed.result))
    return FOUND if replayed.result.verdict is Verdict.VIOLATED else 0


@click.command(
    short_help="Findings as one page; the schema of their JSON.",
    epilog=examples(
        "dplitmus report found.json --html found.html",
        "dplitmus report .dplitmus/*.json --html index.html",
        "dplitmus report --schema > finding.schema.json",
    ),
)
@click.argument("files", nargs=-1)
@click.option("--html", "html_file", help="Write one offline page to this file.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a finding.")
def report(files: tuple[str, ...], html_file: str | None, schema: bool) -> int:
    """Summarise saved findings, as a table or as one offline page.

    FILES are findings in JSON or reports that hold them. Several make an index page with a summary that
    can be sorted. The exit status says nothing about the verdicts: 0, or 2 for bad input.
    """
    from dplitmus import findings, store
    from dplitmus.report import index
    from dplitmus.report.text import summary

    if schema:
        say(findings.schema_text().rstrip(), data=True)
        return 0
    if not files:
        raise click.UsageError("Missing argument 'FILES...'.")
    page = store.prepare_file(html_file) if html_file else None
    found = [finding for file in files for finding in findings.read(file)]
    say(summary(found))
    if page:
        store.write(page, index.page(found))
        say(f"\nwritten: {page}")
    return 0
