"""Draws a chart of dots as SVG: a row for each name, a dot for each series."""

from html import escape

ROW, LEFT, WIDTH, TOP, MARGIN = 22, 110, 620, 46, 16
COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#222222")


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(words)}</text>'


def dot_chart(title, rows, series, ticks, unit):
    """`rows`: (name, {series: value}). `ticks` are the numbers at the axis, in ascending order: values beyond them are drawn at its ends."""

    def place(value):
        share = (min(max(value, ticks[0]), ticks[-1]) - ticks[0]) / (ticks[-1] - ticks[0])
        return LEFT + share * (WIDTH - LEFT - MARGIN)

    bottom = TOP + ROW * len(rows)
    height = bottom + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(MARGIN, 15, title),
    ]
    for tick in ticks:
        x = place(tick)
        parts.append(f'<line x1="{x:.0f}" y1="{TOP}" x2="{x:.0f}" y2="{bottom}" stroke="#dddddd"/>')
        parts.append(text(x, bottom + 15, f"{tick} {unit}", "middle"))
    step = (WIDTH - LEFT) / len(series)
    for k, name in enumerate(series):
        x = LEFT + k * step
        parts.append(f'<circle cx="{x:.0f}" cy="31" r="4" fill="{COLORS[k]}"/>' + text(x + 8, 35, name))
    for i, (name, values) in enumerate(rows):
        y = TOP + ROW * (i + 0.5)
        parts.append(text(LEFT - 10, y + 4, name, "end"))
        parts.append(f'<line x1="{LEFT}" y1="{y:.0f}" x2="{WIDTH - MARGIN}" y2="{y:.0f}" stroke="#eeeeee"/>')
        for k, one in enumerate(series):
            if one in values:
                parts.append(
                    f'<circle cx="{place(values[one]):.1f}" cy="{y:.0f}" r="4" fill="{COLORS[k]}" fill-opacity="0.8">'
                    f"<title>{escape(name)}, {escape(one)}: {values[one]:.1f} {unit}</title></circle>"
                )
    return "\n".join([*parts, "</svg>", ""])
