"""What narrows a matcher's rows: token budgets, and canonical tokenizations."""
