"""The registered drafters. The command line reads this table, which imports nothing."""

# name -> "module:class" in drafters/
DRAFTERS = {
    "copy": "copying:Copy",
    "suffix": "suffix:Suffix",
    "recycle": "recycle:Recycle",
    "trigram": "trigram:Trigram",
    "skeleton": "skeleton:Skeleton",
    "jacobi": "jacobi:Jacobi",
    "pool": "pool:Pool",
    "skip": "layers:Skip",
    "exit": "layers:early_exit",
}
AUTO = "auto"  # those of AUTO_MEMBERS, as far as they pay
AUTO_MEMBERS = ("skeleton", "suffix", "copy")
