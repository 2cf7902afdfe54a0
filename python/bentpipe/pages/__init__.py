"""Pages: one HTML file each, self-contained, without external resources, for phones and wide screens.

    page = Page("Which algorithm?", lead="Five algorithms on one link.")
    page.section("Goodput", ["The mean of five seeds."])
    page.table(["algorithm", "goodput, Mbit/s"], [["CUBIC", 9.43], ["Reno", Badge("4.1", "bad")]])
    page.write("page.html")

The package knows nothing of simulations. Text is escaped everywhere; other content is a `Hyperlink`, a
`Badge` or a `Snippet`.
"""

from bentpipe.pages.charts import Axis, Curve
from bentpipe.pages.page import Heading, Page, check_page
from bentpipe.pages.prose import Badge, Hyperlink, Prose, Snippet, Tone

__all__ = ["Axis", "Badge", "Curve", "Heading", "Hyperlink", "Page", "Prose", "Snippet", "Tone", "check_page"]
