"""Sentence pairs made for what a corpus of everyday sentences lacks: names, numbers, rare words, length.

`made` puts together what the others make: `renaming` the corpus's sentences with other names, `filling` the
frames of `frames` with words of `dictionary`, `names`, `tables` and `quantities` (said in each language by
`english_slots` and `italian_slots`), `marks` puts signs into what is there, and `joined` makes longer texts.
tables/README.md says what the tables hold.
"""
