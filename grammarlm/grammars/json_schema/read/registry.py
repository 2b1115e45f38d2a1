"""The documents that a schema's references may lead to: a dict of schemas by URI, or a `referencing.Registry`.

Of a Registry its resources are read, each in the draft of its specification. Its `retrieve` is never called: a grammar is compared,
hashed and saved by its content, and what a callable would return is no part of that.
"""

from __future__ import annotations

import sys
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature, brief

from .document import DRAFTS, LATEST

SPECIFICATIONS = {  # of `referencing.jsonschema`, each with the `$schema` that says the same
    "DRAFT4": "http://json-schema.org/draft-04/schema#",
    "DRAFT6": "http://json-schema.org/draft-06/schema#",
    "DRAFT7": "http://json-schema.org/draft-07/schema#",
    "DRAFT201909": "https://json-schema.org/draft/2019-09/schema",
    "DRAFT202012": "https://json-schema.org/draft/2020-12/schema",
}
DOCUMENTS = (dict, bool, list)  # what a reference can lead into


def documents_of(registry: Any) -> dict[str, Any]:
    """{uri: schema}. A resource of a Registry that does not name its draft gets a `$schema`."""
    if isinstance(registry, dict):
        for uri, document in registry.items():
            if not isinstance(uri, str) or not isinstance(document, DOCUMENTS):
                raise TypeError(
                    "JsonSchema(registry=...) takes a dict of schemas by URI; it has "
                    f"{brief(document, 60)} at {brief(uri, 60)}"
                )
        return registry
    referencing = sys.modules.get("referencing")  # who has a Registry has imported it
    if referencing is None or not isinstance(registry, referencing.Registry):
        raise TypeError(
            "JsonSchema(registry=...) takes a dict of schemas by URI or a referencing.Registry, "
            f"not {type(registry).__name__}"
        )
    documents = {uri: _document(uri, registry[uri]) for uri in registry}
    return {uri: document for uri, document in documents.items() if isinstance(document, DOCUMENTS)}


def _document(uri: str, resource: Any) -> Any:
    from referencing import Resource, jsonschema

    contents = resource.contents
    if not isinstance(contents, dict) or resource == Resource.opaque(contents):
        return contents
    known = (name for name in SPECIFICATIONS if resource == getattr(jsonschema, name).create_resource(contents))
    draft = SPECIFICATIONS.get(next(known, ""))
    if draft is None:
        raise UnsupportedFeature(
            f"the resource {brief(uri, 200)} of the registry has a specification that is not read; those of "
            f"referencing.jsonschema are: {', '.join(SPECIFICATIONS)}"
        )
    if "$schema" not in contents:
        return {"$schema": draft, **contents}
    declared = contents["$schema"]
    named = declared.rstrip("#") if isinstance(declared, str) else ""
    if DRAFTS.get(named, LATEST) != DRAFTS[draft.rstrip("#")]:
        raise GrammarError(
            f"the resource {brief(uri, 200)} of the registry has the specification of {draft}, but its $schema is "
            f"{brief(declared, 100)}; let them agree"
        )
    return contents
