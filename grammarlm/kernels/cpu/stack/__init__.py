"""The pushdown machine: configs, stacks and their unions, and the single kernel that answers all questions about them."""
