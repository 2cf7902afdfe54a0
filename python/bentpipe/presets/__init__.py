"""The scenarios that come with the package, and new ones made from them.

    from bentpipe.document.spans import LinkSpec
    from bentpipe.presets.draft import draft
    from bentpipe.presets.shipped import shipped, text

    [preset.name for preset in shipped()]
    print(text("geo"))
    print(draft(LinkSpec(rate="20 Mbit/s", rtt="600 ms", per=1e-4), cc=["cubic", "hybla"]))

On the command line `bentpipe scenario list`, `show` and `new`.
"""
