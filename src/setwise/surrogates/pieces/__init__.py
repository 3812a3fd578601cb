"""Surrogates of one set that lies in several places, found from histograms of its scores."""

from typing import TYPE_CHECKING

from setwise.core.attributes import lazily

if TYPE_CHECKING:
    from setwise.surrogates.pieces.bins import bound_of_counts as bound_of_counts
    from setwise.surrogates.pieces.bins import structure_of_totals as structure_of_totals
    from setwise.surrogates.pieces.lovasz import LovaszInPieces as LovaszInPieces
    from setwise.surrogates.pieces.lovasz import of_large_set as of_large_set
    from setwise.surrogates.pieces.lovasz import roc_area_in_pieces as roc_area_in_pieces
    from setwise.surrogates.pieces.margins import CountSearchInPieces as CountSearchInPieces
    from setwise.surrogates.pieces.margins import RampInPieces as RampInPieces

_HOMES = {
    "CountSearchInPieces": "margins",
    "LovaszInPieces": "lovasz",
    "RampInPieces": "margins",
    "bound_of_counts": "bins",
    "of_large_set": "lovasz",
    "roc_area_in_pieces": "lovasz",
    "structure_of_totals": "bins",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
