"""What a page shows of one query: its SQL with the reasons marked, pictures, a story, tables.

All are pure functions to markup that can be put into a page as it is: text is escaped, nothing is loaded
from elsewhere, there are no scripts. Styles are the page's: pictures take the custom properties of
``drawing``, and the rest has classes.
"""

from streambound.report.pages.charts import sparkline, state_chart
from streambound.report.pages.lineage import Node, lineage_picture
from streambound.report.pages.plans import plan_picture
from streambound.report.pages.published import PublishedRow, published_rows, published_table
from streambound.report.pages.rows import Bar, rows_chart
from streambound.report.pages.sql import sql_markup
from streambound.report.pages.stories import WitnessStory, witness_story

__all__ = [
    "Bar",
    "Node",
    "PublishedRow",
    "WitnessStory",
    "lineage_picture",
    "plan_picture",
    "published_rows",
    "published_table",
    "rows_chart",
    "sparkline",
    "sql_markup",
    "state_chart",
    "witness_story",
]
