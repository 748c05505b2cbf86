"""Every way a model can be wrong: refused in one line that names the place."""

import copy
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certify import Model, UserError, certify, check
from certify.certificate import certificate_json
from certify.core.reading import MAX_BYTES, rational
from certify.zoo import build


def step(obs: str, action: str = "wait", **law: str) -> dict[str, Any]:
    return {"obs": obs, "action_law": law or {action: "1"}, "action": action}


def good() -> dict[str, Any]:
    """Four episodes of three steps; the last law is a fair coin."""
    return {
        "horizon": 3,
        "episodes": [
            {"weight": "1/4", "steps": [step(f"cue {cue}"), step("hall"), step("fork", turn, left="1/2", right="0.5")]}
            for cue in range(2)
            for turn in ("left", "right")
        ],
    }


def refusal(document: Any) -> UserError:
    """The error of a document given as Python values; its text is checked to be the same through JSON."""
    with pytest.raises(UserError) as caught:
        Model.from_json(json.dumps(document))
    error = caught.value
    if isinstance(document, dict) and isinstance(document.get("episodes"), list):
        with pytest.raises(UserError) as direct:
            Model.from_episodes(document)
        assert direct.value.where == error.where
    assert "\n" not in str(error)
    assert len(str(error)) < 400
    return error


def changed(*path: str | int, to: Any = None, remove: bool = False) -> dict[str, Any]:
    """The good document with one value replaced or removed."""
    document = copy.deepcopy(good())
    *inner, last = path
    target: Any = document
    for key in inner:
        target = target[key]
    if remove:
        del target[last]
    else:
        target[last] = to
    return document


STEP = ("episodes", 3, "steps", 2)
LAW = (*STEP, "action_law")


def test_the_good_document_is_good() -> None:
    model = Model.from_json(json.dumps(good()))
    assert model.horizon == 3
    assert [level.size for level in model.graph.levels] == [2, 2, 2]


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        ("-1/4", "the weight -1/4 is negative"),
        ("one quarter", 'expected a rational such as "1/4" or "0.25", not "one quarter"'),
        ("1/0", 'expected a rational such as "1/4" or "0.25", not "1/0"'),
        ("nan", 'expected a rational such as "1/4" or "0.25", not "nan"'),
        ("inf", 'expected a rational such as "1/4" or "0.25", not "inf"'),
        ("1/4/1", 'expected a rational such as "1/4" or "0.25", not "1/4/1"'),
        ("0x1", 'expected a rational such as "1/4" or "0.25", not "0x1"'),
        ("", 'expected a rational such as "1/4" or "0.25", not ""'),
        (None, 'expected a rational such as "1/4" or "0.25", not null'),
        (True, 'expected a rational such as "1/4" or "0.25", not true'),
        ([1], 'expected a rational such as "1/4" or "0.25", not a list'),
        ("1e999999999", 'expected a rational such as "1/4" or "0.25", not "1e999999999"'),
        ("-1e400", "the weight a number beyond 1e300 is negative"),
        ("-" + "9" * 3900 + "e999", "the weight a number beyond 1e300 is negative"),
        ("9" * 5000, 'expected a rational such as "1/4" or "0.25", not "99999'),
    ],
)
def test_weights_that_are_no_weights(weight: Any, reason: str) -> None:
    error = refusal(changed("episodes", 3, "weight", to=weight))
    assert error.where == "episodes[3].weight"
    assert error.reason.startswith(reason)


def test_a_python_float_is_refused_because_it_is_not_exact() -> None:
    with pytest.raises(UserError) as caught:
        Model.from_episodes(changed("episodes", 3, "weight", to=0.25))
    assert str(caught.value).startswith("episodes[3].weight: ")
    assert "a float, which is not exact" in str(caught.value)


def test_a_json_decimal_is_read_exactly() -> None:
    text = json.dumps(good()).replace('"1/4"', "0.25").replace('"0.5"', "5e-1")
    assert Model.from_json(text).digest == Model.from_episodes(good()).digest


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_json_constants_are_no_numbers(constant: str) -> None:
    with pytest.raises(UserError, match=r"^episodes\[0\].weight: expected a rational"):
        Model.from_json(json.dumps(good()).replace('"1/4"', constant, 1))


@pytest.mark.parametrize(
    ("weight", "total"),
    [
        ("1/2", "5/4"),
        ("0", "3/4"),
        ("1/1000", "751/1000"),
        ("1e400", "a number beyond 1e300"),
        ("1e-400", "about 0.75"),
    ],
)
def test_weights_that_do_not_sum_to_one(weight: str, total: str) -> None:
    error = refusal(changed("episodes", 3, "weight", to=weight))
    assert str(error) == f"episodes: the weights sum to {total}, not to 1"


@pytest.mark.parametrize(
    ("law", "where", "reason"),
    [
        ({"left": "1/2", "right": "1/3"}, "", "the probabilities sum to 5/6, not to 1"),
        ({"left": "3/2", "right": "-1/2"}, '["right"]', "the probability -1/2 is negative"),
        ({"left": "a", "right": "1/2"}, '["left"]', 'expected a rational such as "1/4" or "0.25", not "a"'),
        ({"left": {}, "right": "1/2"}, '["left"]', 'expected a rational such as "1/4" or "0.25", not an object'),
        ({"left": "0", "right": "0"}, "", "the probabilities sum to 0, not to 1"),
        ({}, "", "the law is empty; give each action its probability"),
        ("right", "", 'expected an object, not "right"'),
        (["right"], "", "expected an object, not a list"),
        (None, "", "expected an object, not null"),
    ],
)
def test_laws_that_are_no_distributions(law: Any, where: str, reason: str) -> None:
    error = refusal(changed(*LAW, to=law))
    assert str(error) == f"episodes[3].steps[2].action_law{where}: {reason}"


@pytest.mark.parametrize("law", [{"left": "1"}, {"left": "1", "right": "0"}])
def test_an_action_outside_its_law(law: dict[str, str]) -> None:
    error = refusal(changed(*LAW, to=law))
    assert str(error) == 'episodes[3].steps[2].action: "right" is outside the support of its action_law ("left")'


def test_names_of_any_kind_stay_on_one_line() -> None:
    error = refusal(changed(*LAW, to={"go\nleft": "1", "\r": "0"}))
    assert error.reason == '"right" is outside the support of its action_law ("go\\nleft")'


def test_draws_that_contradict_the_laws() -> None:
    """After `cue 1` the laws say a fair coin, but only heads continue; at the last step draws are not checked."""
    document = good()
    for episode in document["episodes"]:
        episode["steps"][1]["action_law"] = {"wait": "1/2", "jump": "1/2"}
    error = refusal(document)
    assert error.where == "episodes[0].steps[1]"
    assert "draw 'wait' with weight 1 of the whole, but the laws there give it 1/2" in error.reason
    assert '"empirical": true' in error.reason


def test_unequal_draws_name_an_episode_of_the_history_in_question() -> None:
    document = {
        "horizon": 2,
        "episodes": [
            {"weight": "1/2", "steps": [step("x"), step("end")]},
            {"weight": "3/8", "steps": [step("y", "left", left="1/2", right="1/2"), step("end")]},
            {"weight": "1/8", "steps": [step("y", "right", left="1/2", right="1/2"), step("end")]},
        ],
    }
    assert refusal(document).where == "episodes[1].steps[0]"
    document["empirical"] = True
    assert Model.from_episodes(document).graph.levels[1].size == 3


def test_draws_at_the_last_step_need_not_match() -> None:
    document = changed("episodes", 0, "weight", to="3/8")
    document["episodes"][1]["weight"] = "1/8"
    assert Model.from_episodes(document).horizon == 3


def test_ragged_episodes() -> None:
    document = good()
    document["episodes"][2]["steps"].pop()
    error = refusal(document)
    assert str(error) == "episodes[2].steps: 2 steps, but the horizon is 3; pad or cut every episode to it"


@pytest.mark.parametrize("episodes", [[], {}, None, "none"])
def test_empty_models(episodes: Any) -> None:
    assert str(refusal(changed("episodes", to=episodes))) == "episodes: expected a list with at least one episode"


def test_an_episode_without_steps() -> None:
    assert refusal(changed("episodes", 1, "steps", to=[])).where == "episodes[1].steps"
    assert refusal(changed("episodes", 1, "steps", to="none")).reason == 'expected a list of steps, not "none"'


@pytest.mark.parametrize(
    ("path", "where"),
    [
        (("extra",), ""),
        (("episodes", 1, "extra"), "episodes[1]"),
        (("episodes", 1, "steps", 2, "extra"), "episodes[1].steps[2]"),
    ],
)
def test_unknown_keys_are_refused_by_name(path: tuple[str | int, ...], where: str) -> None:
    error = refusal(changed(*path, to=1))
    assert error.where == where
    assert error.reason.startswith('unknown key "extra"; expected ')


@pytest.mark.parametrize(
    ("path", "where"),
    [
        (("horizon",), ""),
        (("episodes",), ""),
        (("episodes", 1, "weight"), "episodes[1]"),
        (("episodes", 1, "steps"), "episodes[1]"),
        ((*STEP, "obs"), "episodes[3].steps[2]"),
        ((*STEP, "action"), "episodes[3].steps[2]"),
    ],
)
def test_missing_keys_are_named(path: tuple[str | int, ...], where: str) -> None:
    error = refusal(changed(*path, remove=True))
    assert (error.where, error.reason) == (where, f'the key "{path[-1]}" is missing')


@pytest.mark.parametrize(
    ("find", "twice", "where"),
    [
        ('"horizon": 3', '"horizon": 3, "horizon": 3', ""),
        ('"weight": "1/4"', '"weight": "1/4", "weight": "1/4"', "episodes[0]"),
        ('"obs": "hall"', '"obs": "hall", "obs": "hall"', "episodes[0].steps[1]"),
        ('"left": "1/2"', '"left": "1/2", "left": "1/2"', "episodes[0].steps[2].action_law"),
    ],
)
def test_duplicate_keys_are_refused_even_when_equal(find: str, twice: str, where: str) -> None:
    with pytest.raises(UserError) as caught:
        Model.from_json(json.dumps(good()).replace(find, twice, 1))
    key = find.split('"')[1]
    assert (caught.value.where, caught.value.reason) == (where, f'the key "{key}" is given twice')


@pytest.mark.parametrize(
    ("horizon", "shown"),
    [(0, "0"), (-1, "-1"), ("5/2", "5/2"), ("0", "0"), ("-1e400", "a number beyond 1e300")],
)
def test_horizons_that_count_no_steps(horizon: Any, shown: str) -> None:
    error = refusal(changed("horizon", to=horizon))
    assert str(error) == f"horizon: expected a whole number of steps, at least 1, not {shown}"


@pytest.mark.parametrize(("key", "value"), [("obs", 7), ("obs", None), ("action", 7), ("obs", ["x"])])
def test_symbols_are_text(key: str, value: Any) -> None:
    error = refusal(changed(*STEP, key, to=value))
    assert error.where == f"episodes[3].steps[2].{key}"
    assert error.reason.startswith("expected text, not ")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("format", "certify-model/2", 'expected "certify-model/1", not "certify-model/2"'),
        ("empirical", "yes", 'expected true or false, not "yes"'),
        ("name", 7, "expected text, not 7"),
    ],
)
def test_optional_fields_have_their_types(key: str, value: Any, reason: str) -> None:
    assert str(refusal(changed(key, to=value))) == f"{key}: {reason}"


def test_optional_fields_are_accepted() -> None:
    document = changed("episodes", 0, "latent", to="b=0") | {
        "name": "fork",
        "notes": "none",
        "format": "certify-model/1",
    }
    model = Model.from_json(json.dumps(document))
    assert model.name == "fork"
    assert model.digest == Model.from_episodes(good()).digest


@pytest.mark.parametrize("value", [[], "text", 7, None, True])
def test_a_document_that_is_no_object(value: Any) -> None:
    with pytest.raises(UserError, match="expected an object"):
        Model.from_json(json.dumps(value))


@pytest.mark.parametrize(("item", "shown"), [("x", '"x"'), ([], "a list"), (None, "null")])
def test_episodes_and_steps_are_objects(item: Any, shown: str) -> None:
    assert str(refusal(changed("episodes", 1, to=item))) == f"episodes[1]: expected an object, not {shown}"
    assert str(refusal(changed(*STEP, to=item))) == f"episodes[3].steps[2]: expected an object, not {shown}"


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(UserError, match="half a surrogate pair"):
        Model.from_json(json.dumps(changed(*STEP, "obs", to="\ud800")))


def load(path: Path) -> str:
    """The one-line refusal of a file."""
    with pytest.raises(UserError) as caught:
        Model.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(json.dumps(good()).encode().replace(b"hall", b"h\xe4ll", 1))
    assert load(path).startswith("not UTF-8 text (byte ")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(good()).encode())
    assert Model.load(path).horizon == 3


def test_a_file_of_200_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.touch()
    os.truncate(path, 200 * 2**20)
    assert load(path) == (
        f"the file has {200 * 2**20:,} bytes, more than {MAX_BYTES:,}; give large models as npz arrays"
    )


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_file_nested_a_hundred_thousand_deep(tmp_path: Path, opening: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(opening * 10**5)
    assert load(path) == "nested too deeply to be a model; a model has five levels"
    path.write_text('{"horizon": 1, "episodes": ' + "[" * 10**5 + "]" * 10**5 + "}")
    assert load(path) == "nested too deeply to be a model; a model has five levels"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON: Expecting value at line 1, column 1"),
        ("{}", 'the key "episodes" is missing'),
        ('{"horizon": 1,\n "episodes": [}', "not JSON: Expecting value at line 2, column 15"),
    ],
)
def test_a_file_that_is_not_json(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    assert load(path) == reason


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert load(tmp_path / "absent.json") == "cannot be read: No such file or directory"
    assert load(tmp_path).startswith("cannot be read: ")


@given(st.fractions())
def test_rationals_are_read_back(value: Fraction) -> None:
    assert rational(str(value), "here") == value == rational(value, "here")


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**6), max_value=10**6, places=9))
def test_decimals_are_read_exactly(value: Any) -> None:
    assert rational(str(value), "here") == Fraction(value)


@pytest.mark.parametrize(
    "text", ["1_000", "١/٢", "1/٠", "½", "1 / 2", "--1", "1e", ".", "/2", "1/", "1//2", "+-1", "1/2e3"]
)
def test_lookalikes_are_no_rationals(text: str) -> None:
    with pytest.raises(UserError, match=r"^here: expected a rational"):
        rational(text, "here")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["1", "1/2", "0", "-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


def paths(value: Any) -> list[tuple[str | int, ...]]:
    """The path of every value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *path) for key, item in inner for path in paths(item))]


@settings(max_examples=400)
@given(st.data())
def test_one_wrong_value_anywhere_is_a_model_or_a_refusal(data: st.DataObject) -> None:
    """Both formats, any value at any place: never another error, and always one line."""
    document = data.draw(st.sampled_from([good(), json.loads(build("running-parity", horizon=2).to_json())]))
    path = data.draw(st.sampled_from([path for path in paths(document) if path]))
    *inner, last = path
    target: Any = document
    for key in inner:
        target = target[key]
    target[last] = data.draw(values)
    try:
        said = Model.from_json(json.dumps(document)).digest
    except UserError as error:
        said = str(error)
    assert len(said.splitlines()) == 1


def test_a_certain_action_needs_no_law(tmp_path: Path) -> None:
    bare = copy.deepcopy(good())
    for episode in bare["episodes"]:
        for step in episode["steps"]:
            if len(step["action_law"]) == 1:
                del step["action_law"]
    assert Model.from_episodes(bare).digest == Model.from_episodes(good()).digest
    (tmp_path / "model.json").write_text(json.dumps(bare))
    (tmp_path / "proof.json").write_text(certificate_json(certify(Model.from_episodes(good()))))
    assert check.main([str(tmp_path / "proof.json"), str(tmp_path / "model.json")]) == 0
