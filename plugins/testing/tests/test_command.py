"""The contract of commands: one that keeps it, and some that do not."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import typer
from perfcore_testing.command import CommandContract
from perfcore_testing.output import FakeOutput

from perfcore.errors import UsageError


class Hello:
    """Greet somebody."""

    def app(self) -> typer.Typer:
        app = typer.Typer(rich_markup_mode=None, add_completion=False)

        @app.command()
        def hello(ctx: typer.Context, name: Annotated[str, typer.Option(help="Who is greeted.")] = "you") -> None:
            if not name:
                raise UsageError("nobody is there")
            ctx.obj.write(f"hello {name}\n")

        return app


class TestHello(CommandContract):
    examples = ([], ["--name", "Ada"])

    @pytest.fixture
    def driver(self) -> Hello:
        return Hello()


class Contract(CommandContract):
    examples = ([],)


class Printing:
    """Prints past the output."""

    def app(self) -> typer.Typer:
        app = typer.Typer(add_completion=False)

        @app.command()
        def shout() -> None:
            print("hello")

        return app


class Kept:
    app_made: Any = None

    def app(self) -> typer.Typer:
        self.app_made = self.app_made or Hello().app()
        made: typer.Typer = self.app_made
        return made


@pytest.mark.parametrize(
    ("law", "driver"),
    [
        ("test_it_prints_through_the_output_only", Printing()),
        ("test_it_can_be_made_again", Kept()),
    ],
)
def test_a_law_finds_the_command_that_breaks_it(law: str, driver: Any) -> None:
    with pytest.raises(AssertionError):
        getattr(Contract(), law)(driver, FakeOutput())


def test_a_command_that_says_nothing_of_itself_is_found() -> None:
    kept: Any = Kept()  # without the optional methods of a command
    with pytest.raises(AssertionError):
        Contract().test_its_first_line_tells_what_it_does(kept)


def test_an_exception_that_is_no_error_of_ours_is_let_through() -> None:
    class Failing(Hello):
        def app(self) -> typer.Typer:
            app = typer.Typer(add_completion=False)

            @app.command()
            def fail() -> None:
                raise KeyError("oops")

            return app

    failing: Any = Failing()
    with pytest.raises(KeyError):
        Contract().test_it_prints_through_the_output_only(failing, FakeOutput())
