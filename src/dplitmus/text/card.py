"""The model card: what a model directory promises, in words. Takes its configuration; gives Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def model_card(config: Mapping[str, Any]) -> str:
    """README.md of a model directory."""
    claim, settings = config["claim"], config["settings"]
    private = ", ".join(config["private"]) or "none"
    unprotected = claim["sampler"] == "none"
    stands = (
        "There is no noise and no claim: this model is what utility is compared with."
        if unprotected
        else "The claim follows from the bound, the sensitivity and the noise."
        if claim["holds"]
        else "THE CLAIM IS FALSE: this model repeats a published mistake on purpose. Release nothing with it."
    )
    paid = f", ledger=dplitmus.text.Ledger(budget={claim['epsilon']:g})" if claim["holds"] else ""
    return f"""# {config["system"]}, a text model of dplitmus {config["version"]}

{stands}

| | |
|---|---|
| declared epsilon | {"none" if unprotected else claim["epsilon"]} |
| neighbours | {claim["relation"]} (local differential privacy, one text per person) |
| bound | {claim["bound"]} of radius {claim["radius"]:g} in {claim["dimension"]} dimensions |
| sensitivity | {claim["sensitivity"]:g} (L1 diameter of the bound: {claim["l1_diameter"]:g}) |
| noise | {claim["sampler"]} |
| audit | {_audit(config["audit"])} |
| task classes | {len(config["labels"])} |
| private attributes | {private} |
| training | {settings["epochs"]} epochs, seed {settings["seed"]} |

The guarantee is about each released text, given this model: it holds if the text was not among the training
texts, or if those are public. The vocabulary and the weights were learned from the training texts without
privacy. Every release of the same person's texts spends epsilon again.

    import dplitmus.text
    model = dplitmus.text.load("this directory")
    vectors = model.encode(["a text"]{paid})
"""


def _audit(audited: Mapping[str, Any] | None) -> str:
    if audited is None:
        return "not audited"
    return (
        f"{audited['verdict']}: certified epsilon >= {audited['epsilon_lower']:.4g} against "
        f"{audited['claimed']:g}, {audited['samples']:,} draws of the {audited['view']}"
    )
