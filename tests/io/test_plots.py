import pytest

from paraphrastic_hf.io.plots import bars, human, lines, new_figure, png

CURVE = ([1, 2, 4], [0.5, 0.7, 0.6])
UNITS = {0.25: "0.25", 999: "999", 1000: "1k", -12_500: "-12.5k", 3e6: "3M", 1e-5: "1e-5"}


@pytest.mark.parametrize(("value", "text"), UNITS.items())
def test_large_numbers_have_units(value, text):
    assert human(value) == text
    assert human(-999_999, 3) == "-1M"


@pytest.mark.parametrize("text", [r"$\no$ such", "$5 for $6", r"a_1 $\x$", "大"])
def test_any_text_is_drawn_without_a_warning(text):
    figure = new_figure(5, 3)
    bars(figure.subplots(), [text, "b"], [2.0, 10_000.0], text)
    assert png(figure, text).startswith(b"\x89PNG")


@pytest.fixture
def axes():
    return new_figure(5, 3).add_subplot()


def test_counts_have_whole_ticks(axes):
    lines(axes, {"one": CURVE, "two": CURVE}, "step", counts="x")
    assert all(tick == int(tick) for tick in axes.get_xticks())
    assert any(tick != int(tick) for tick in axes.get_yticks())


def test_several_curves_have_a_legend_and_one_a_title():
    for curves, has_legend in (({"one": CURVE, "two": CURVE}, True), ({"one": CURVE}, False)):
        axes = new_figure(6, 3).add_subplot()
        lines(axes, curves, "step")
        assert (axes.get_legend() is not None) == has_legend
        assert axes.get_title(loc="left") == ("" if has_legend else "one")


@pytest.mark.parametrize(("last", "scale"), [(9, "linear"), (10, "log")])
def test_a_scale_is_logarithmic_from_a_factor_of_ten(axes, last, scale):
    lines(axes, {"one": ([1, last], [0.5, 0.6])}, "pairs", log=True)
    assert axes.get_xscale() == scale


def test_single_points_become_bars(axes):
    lines(axes, {"one": ([3], [0.5]), "two": ([4], [0.7])}, "step", "score", log=True)
    assert [patch.get_width() for patch in axes.patches] == [0.5, 0.7]
    assert axes.get_xlabel() == "score"


def test_values_are_written_beyond_the_ends_of_bars(axes):
    bars(axes, ["a", "b"], [-3.0, 2.0], "r", xerr=[[1, 1], [2, 2]])
    found = [(text.get_text(), text.xy[0], text.get_ha()) for text in axes.texts]
    assert found == [("-3.00", -4, "right"), ("2.00", 4, "left")]
