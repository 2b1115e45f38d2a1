"""Row of a JSON number's shape: written by grammars/json_schema/numbers/rows.py, read by kernels/cpu/json/step/numbers.py."""

# Columns.
FLAGS, DIGITS, ZEROS, EXPONENT_DIGITS, FINEST, STEP, POWERS, MODULUS, EXCLUDED, EXCLUDED_AT, RUN, FARTHEST = range(12)
POSITIVE, NEGATIVE = 12, 18
LOW, LOW_LENGTH, LOW_AT, HIGH, HIGH_LENGTH, HIGH_AT = range(6)  # within each sign
EASY, COARSEST, FINEST_STEP, LARGEST_EXPONENT = 24, 25, 26, 27
NUMBER_COLUMNS = 28
# Flags. OPEN: any digits can be continued to a valid value.
ZERO, PLAIN, SPELLED, SYMMETRIC, STEPS, OPEN = 1, 2, 4, 8, 16, 32
TOLD = 64  # one value, whose text in json_unique's canonical form is in the blob; its offset and size precede the row
TIDY = 128  # only as json.dumps writes numbers; with PLAIN: only integers
LEAST_TIDY, MOST_TIDY = -4, 15  # powers of ten that are written without an exponent
NEVER_EASY = 1 << 20
