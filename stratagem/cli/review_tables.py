"""Reviews on the terminal."""

from rich.markup import escape
from rich.table import Table

from stratagem.analysis import dice_review, review
from stratagem.cli.output import out

COLOURS = {"??": "bold red", "?": "yellow", "?!": "cyan"}


def print_review(graded: review.GameReview, errors_only: bool) -> None:
    """The decisions and the sums of any game."""
    table = Table(title=f"{graded.game}, judged by {graded.evaluator} ({graded.kind})", show_lines=False)
    for heading in ("turn", "player", "played", "best", "before", "after", "loss", "rank"):
        table.add_column(heading, justify="left" if heading in ("player", "played", "best") else "right")
    for one in graded.decisions:
        if errors_only and not one.mark:
            continue
        colour = COLOURS.get(one.mark, "")
        action = f"{one.action} {one.mark}".strip()
        table.add_row(
            str(one.turn + 1),
            escape(graded.seats[one.seat].name),
            f"[{colour}]{action}[/]" if colour else action,
            "" if one.best == one.action else one.best,
            f"{one.before:+.2f}",
            f"{one.after:+.2f}",
            f"{one.loss:.2f}" if one.loss >= 0.005 else "",
            f"{one.rank}/{one.alternatives}",
        )
    out.print(table)
    for seat in graded.seats:
        out.print(
            f"[bold]{escape(seat.name)}[/]: result {seat.result:+.2f}. "
            f"Gave away {seat.lost:.2f} in {seat.decisions} decisions: "
            f"{seat.inaccuracies} inaccuracies, {seat.errors} errors, {seat.blunders} blunders."
        )
    if not graded.finished:
        out.print("The game breaks off.", style="dim")


def print_dice_review(graded: dice_review.Review, errors_only: bool) -> None:
    """The decisions, the reasons and the sums of a solved dice game."""
    table = Table(title=graded.game, show_lines=False)
    for heading in ("turn", "player", "dice", "luck", "decision", "equity", "loss", "rank"):
        table.add_column(
            heading, justify="right" if heading in ("turn", "luck", "equity", "loss", "rank") else "left"
        )
    for one in graded.decisions:
        if errors_only and not one.mark:
            continue
        table.add_row(*_row(one, graded))
    out.print(table)
    for one in graded.decisions:
        if one.mark:
            out.print(
                f"{escape(graded.seats[one.seat].name)}, turn {one.turn}, {one.dice}, {one.action} {one.mark} {one.why}"
            )
    for summary in graded.seats:
        out.print(
            f"[bold]{escape(summary.name)}[/]: result {summary.result:+.3f} = skill {summary.skill:+.3f} "
            f"+ luck {summary.luck:+.3f}. Gave away {summary.lost:.3f} in {summary.decisions} decisions, "
            f"{summary.errors} errors, {summary.blunders} blunders; plays like {summary.rating:+.0f} Elo "
            "against perfection."
        )
    if not graded.finished:
        out.print("The game breaks off; the result is the equity of the last position.", style="dim")


def _row(one: dice_review.Decision, graded: dice_review.Review) -> list[str]:
    loss = f"{one.loss:.3f}" if one.loss >= 0.0005 else ""
    colour = COLOURS.get(one.mark, "")
    action = f"{one.action} {one.mark}".strip()
    return [
        str(one.turn),
        escape(graded.seats[one.seat].name),
        one.dice,
        f"{one.luck:+.3f}" if abs(one.luck) >= 0.0005 else "",
        f"[{colour}]{action}[/]" if colour else action,
        f"{one.after:+.3f}",
        loss,
        f"{one.rank}/{one.alternatives}",
    ]
