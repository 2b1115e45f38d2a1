"""The registered decoding methods. The command line reads this table, which imports nothing."""

# name -> "module:name"
METHODS = {
    "masked": "grammarlm.decoding.methods.masked:masked",
    "awrs": "grammarlm.published.methods.awrs:awrs",
    "smc": "grammarlm.published.methods.smc:smc",
    "best_of": "grammarlm.decoding.methods.best_of:best_of",
    "beam": "grammarlm.decoding.methods.grammar_beam:beam",
    "lookahead": "grammarlm.published.methods.lookahead:lookahead",
    "diffusion": "grammarlm.decoding.diffusion.written:diffusion",
    "trials": "grammarlm.published.methods.trials:trials",
}
