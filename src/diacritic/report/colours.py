"""Colours of the required classes: safe for colour-blind readers, the same in every strip, film and table."""

CLASSES = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#6a51a3",
    "#882255",
    "#999933",
    "#44aa99",
    "#7f6b5d",
)  # after Okabe and Ito, then Tol; further classes use them again and differ by their names


def colour(number: int) -> str:
    """The colour of a required class."""
    return CLASSES[number % len(CLASSES)]


def ink_on(background: str) -> str:
    """Black or white, whichever has more contrast on a colour."""
    channels = (int(background[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"


def style() -> str:
    """The colours as custom properties of the style sheet, with a readable ink for each."""
    pairs = ((f"--class-{k}: {c};", f"--on-{k}: {ink_on(c)};") for k, c in enumerate(CLASSES))
    return ":root { " + " ".join(text for pair in pairs for text in pair) + " }\n"
