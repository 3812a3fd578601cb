"""Surrogates of one set that lies in several places, found from histograms of its scores."""
