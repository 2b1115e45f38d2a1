"""The row of a JSON number's shape: grammars/json_schema/number_rows.py writes it, kernels/cpu/json_numbers.py reads it."""

# Columns.
FLAGS, DIGITS, ZEROS, EXPONENT_DIGITS, FINEST, STEP, POWERS, MODULUS, EXCLUDED, EXCLUDED_AT, RUN, FARTHEST = range(12)
POSITIVE, NEGATIVE = 12, 18
LOW, LOW_LENGTH, LOW_AT, HIGH, HIGH_LENGTH, HIGH_AT = range(6)  # within a sign
EASY, COARSEST, FINEST_STEP, LARGEST_EXPONENT = 24, 25, 26, 27
NUMBER_COLUMNS = 28
# Flags. OPEN: any digits can go on to a value.
ZERO, PLAIN, SPELLED, SYMMETRIC, STEPS, OPEN = 1, 2, 4, 8, 16, 32
TOLD = 64  # one value, whose text in json_unique's form lies in the blob: start and size stand before the row
TIDY = 128  # only as json.dumps writes numbers; beside PLAIN: whole numbers
LEAST_TIDY, MOST_TIDY = -4, 15  # powers of ten that are written without an exponent
NEVER_EASY = 1 << 20
