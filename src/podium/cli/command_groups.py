"""The commands as the help lists them: by what one wants to do, each with its whole sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperGroup

from podium._errors import PodiumError

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

GROUPS = {
    "Look at data": ("data", "doctor"),
    "Learn": ("rankers", "train", "cv", "tune"),
    "Use and understand a model": ("score", "explain", "info", "report"),
    "Measure and compare": ("measures", "evaluate", "compare", "evaluate-run", "fuse"),
    "Exchange and install": ("import", "export", "compile"),
}
"""Commands in the order in which one comes to them; a test sees that none is left out."""
FIRST_STEPS = (
    "podium train train.txt -o m.podium",
    "podium evaluate test.txt m.podium",
    "podium COMMAND --help shows options and an example.",
)


class Commands(TyperGroup):
    """The commands, any of which Ctrl-C ends with a sentence."""

    def invoke(self, ctx: Context) -> object:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            kept = " but a checkpoint, if --set checkpoint=FILE names one" if ctx.invoked_subcommand == "train" else ""
            raise PodiumError(f"Interrupted; nothing was written{kept}.") from None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands by groups; rich's panels would take twice as long as all the rest of the help."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit=10_000)) for name in names])
        with formatter.section("First steps"):
            formatter.write("".join(f"  {line}\n" for line in FIRST_STEPS))
