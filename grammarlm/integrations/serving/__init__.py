"""What every serving engine needs: options of a request, admission, rows that never raise. It imports no engine."""
