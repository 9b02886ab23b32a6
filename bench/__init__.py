"""How fast Headlight is, measured beside BertViz: `make bench`."""
