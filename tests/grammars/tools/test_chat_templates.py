"""Chat templates are other people's programs: they render as transformers renders them, and hostile ones are stopped."""

import sys

import pytest

import grammarlm as gl
from grammarlm.grammars.tools.learning.chat_template import ChatTemplate
from grammarlm.grammars.tools.tool_format import ToolFormat
from tests.corpus_files import corpus
from tests.oracles.chat_templates import TOOLS, USER, assistant, compiled, needs_jinja2

pytestmark = needs_jinja2
# Features in which templates differ from plain Jinja.
FEATURES = {
    "white space": "a\n  {% if true %}\n  b\n  {% endif %}\nc",
    "loop controls": "{% for x in [1, 2, 3] %}{% if x < 2 %}{% continue %}{% elif x > 2 %}{% break %}{% endif %}a{% endfor %}",
    "JSON": "{{ {'b': 'é<&', 'a': [1, 1.5, none, true]} | tojson }}{{ [1, {'a': 2}] | tojson(indent=2) }}",
    "JSON otherwise": "{{ {'b': 'é', 'a': 1} | tojson(ensure_ascii=true, separators=(',', ':'), sort_keys=true) }}",
    "generation": "{% generation %}{% set x = 1 %}{{ messages[0].content }}{% endgeneration %}{{ x is defined }}",
    "namespaces": "{% set ns = namespace(a='x') %}{% for m in messages %}{% set ns.a = ns.a ~ m.role %}{% endfor %}{{ ns.a }}",
    "macros": "{% macro f(x, y='!') %}{{ x ~ y }}{{ caller() if caller }}{% endmacro %}{{ f(1) }}{% call f(2) %}in{% endcall %}",
    "filters": "{{ messages | map(attribute='role') | join(', ') | upper }}{{ 'a b' | replace(' ', '_') | trim | length }}",
    "tests": "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ 'a' is in 'abc' }}{{ 3 is divisibleby(2) }}",
    "formats": "{{ '%s-%d' % ('a', 3) }}{{ '{}:{:>4}'.format('a', 3) }}{{ '%s' | format('b') }}",
    "arithmetic": "{{ 2 ** 10 + 7 % 4 - 6 // 4 }}{{ 'ab' * 3 }}{{ [1] + [2] }}{{ -3 | abs }}",
    "slices": "{{ messages[::-1] | length }}{{ 'abc'[1:] }}{{ 'a,b'.split(',')[-1] }}{{ ' x '.strip() }}",
    "blocks": "{% set text %}<{{ messages[0].role }}>{% endset %}{{ text }}{% filter upper %}abc{% endfilter %}",
    "recursion": "{% for x in [[1, [2]], [3]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
    "undefined": "[{{ nothing }}{{ messages[0].nothing }}]{{ nothing is defined }}{{ nothing | default('d') }}",
    "tokens": "{{ bos_token }}{{ eos_token }}{% if add_generation_prompt %}on{% endif %}",
}
# Each would take minutes, or more memory than there is.
HOSTILE = {case["name"]: case["template"] for case in corpus("hostile_templates")}


@pytest.mark.parametrize("name", FEATURES)
def test_templates_beside_transformers(name: str) -> None:
    messages = [{"role": "user", "content": USER}, assistant([("Find2", {"city": "é"}, "abcdef123")])]
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    given = {"messages": messages, "tools": TOOLS, "add_generation_prompt": True}
    assert ChatTemplate(FEATURES[name], tokens).render(**given) == compiled(FEATURES[name]).render(**tokens, **given)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_templates_are_stopped(name: str) -> None:
    before = "{% for m in messages %}{{ m.content }}{{ m.tool_calls }}{% endfor %}"
    with pytest.raises(gl.UnsupportedFeature, match="no format of calls is known"):
        ToolFormat.of(before + HOSTILE[name])
    try:
        template = ChatTemplate(HOSTILE[name])
        assert len(template.render(messages=[])) < 10**6
    except gl.GrammarError as error:
        assert str(error).startswith("the chat template")  # noqa: PT017


def test_all_renderings_are_paid_from_one_purse() -> None:
    template = ChatTemplate("{% for i in range(90000) %}{{ i }}{% endfor %}")
    assert template.render().startswith("0123")
    with pytest.raises(gl.LimitExceeded, match="repeats or writes too much"):
        template.render()


def test_what_a_template_changes_is_its_own() -> None:
    template, messages = ChatTemplate("{{ messages.append(1) }}{{ messages }}"), [0]
    assert [template.render(messages=messages) for _ in range(2)] == ["None[0, 1]"] * 2
    assert messages == [0]


def test_a_template_that_is_too_long() -> None:
    with pytest.raises(gl.LimitExceeded, match="300000 characters"):
        ChatTemplate("a" * 300_000)
    with pytest.raises(gl.UnsupportedFeature, match="300000 characters"):
        ToolFormat.of("a" * 300_000)


def test_without_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grammarlm.grammars.tools.learning.sandbox", None)
    with pytest.raises(ImportError, match="jinja2"):
        ToolFormat.of("{{ messages }}")
