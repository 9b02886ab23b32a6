"""Attention that another library computed: tensors or arrays, prepared for the viewer."""
